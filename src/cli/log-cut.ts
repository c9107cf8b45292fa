// `polylog log cut`: a log loses everything from an offset on. Holds the directory's lock while it looks and cuts.
import path from 'node:path';
import {
  type CutPlan,
  cutLog,
  type InspectedLog,
  nodeFileSystem,
  openInspectedIndex,
  planCut,
  StorageError,
} from '../../storage/index.ts';
import { type LogPlace, shownPath, withLogPlace } from './log-place.ts';
import { logIdOf, readKnownTopics } from './log-topics.ts';
import { EXIT, type Surroundings } from './surroundings.ts';

export interface CutOptions {
  /** The first offset that goes. */
  readonly at: number;
  readonly dryRun?: boolean;
}

export function cut(place: LogPlace, options: CutOptions, surroundings: Surroundings): Promise<number> {
  return withLogPlace(place, surroundings, async ({ kind, dataDirectory, logs, path: where }) => {
    const [log] = logs;
    if (kind !== 'partition' || log === undefined) {
      surroundings.err(`polylog: ${where} is not one partition: name its directory, or TOPIC:PARTITION\n`);
      return EXIT.wrongUsage;
    }
    const index =
      dataDirectory === undefined ? undefined : await openInspectedIndex(nodeFileSystem, dataDirectory);
    try {
      const plan = await planCut(nodeFileSystem, log.directory, options.at);
      const rows =
        index === undefined || dataDirectory === undefined
          ? undefined
          : { database: index, logId: await logIdIn(dataDirectory, log) };
      if (plan.cutBytes > 0 && options.dryRun !== true) {
        // A Ctrl-C waits until all of it is done.
        void surroundings.interrupted;
        await cutLog(nodeFileSystem, plan, rows);
      }
      tellCut(plan, options, surroundings);
    } finally {
      await index?.close();
    }
    return EXIT.done;
  });
}

/** Of the rows that go with what is cut: left where they are, they could answer for what is appended later. */
async function logIdIn(dataDirectory: string, log: InspectedLog): Promise<number> {
  const logId = logIdOf(await readKnownTopics(dataDirectory), log);
  if (logId !== undefined) return logId;
  throw new StorageError(
    'data-directory',
    `meta/ does not say which rows of the index are this log's: remove ${path.join(dataDirectory, 'index')}, ` +
      'which the next start makes anew, and cut again',
  );
}

function tellCut(plan: CutPlan, { at, dryRun }: CutOptions, surroundings: Surroundings): void {
  const { endOffset, shortened, removed, cutBytes } = plan;
  const directory = shownPath(plan.directory, surroundings);
  if (cutBytes === 0) {
    surroundings.out(`${directory} ends at offset ${endOffset}: nothing to cut
`);
    return;
  }
  if (endOffset < at) {
    surroundings.err(`polylog: offset ${at} is inside a batch or behind a hole: the cut is at ${endOffset}
`);
  }
  const does = dryRun ? 'would be' : 'is';
  for (const { path: file, byteSize } of removed) {
    surroundings.out(`${shownPath(file, surroundings)} ${does} set aside, ${byteSize} bytes
`);
  }
  if (shortened !== undefined) {
    const { segment, position } = shortened;
    const bytes = segment.byteSize - position;
    const file = shownPath(segment.path, surroundings);
    surroundings.out(`${file} ${does} cut at byte ${position}, ${bytes} bytes are set aside
`);
  }
  const ends = dryRun ? 'would end' : 'ends';
  surroundings.out(`${directory} ${ends} at offset ${endOffset}; ${cutBytes} bytes ${dryRun ? 'would be' : 'are'} kept as *.cut
`);
}
