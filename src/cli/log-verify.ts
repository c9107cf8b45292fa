// `polylog log verify`: checks the logs of a place one after the other, and tells what is wrong, a line each. With the
// index it holds the directory's lock, so that what it looks at stands still.
import path from 'node:path';
import {
  checkNodeFile,
  checkTopicFile,
  type Finding,
  Findings,
  type IndexDatabase,
  type InspectedLog,
  type InspectionTarget,
  type InspectionTotals,
  nodeFileSystem,
  noTotals,
  openInspectedIndex,
  StorageError,
  verifyLog,
} from '../../storage/index.ts';
import { type LogPlace, shownPath, withLogPlace } from './log-place.ts';
import { LogProgress, segmentBytesOf } from './log-progress.ts';
import { type KnownTopics, logIdOf, readKnownTopics } from './log-topics.ts';
import { EXIT, type Surroundings } from './surroundings.ts';

export interface VerifyOptions {
  /** False with `--no-index`. */
  readonly index: boolean;
  readonly output: 'text' | 'json';
}

export function verify(place: LogPlace, options: VerifyOptions, surroundings: Surroundings): Promise<number> {
  return withLogPlace(place, surroundings, async (target) => {
    if (target.kind === 'file') {
      surroundings.err(`polylog: ${target.path} is a file: verify its partition's directory\n`);
      return EXIT.failed;
    }
    const isWatched = surroundings.progress !== undefined;
    const progress = new LogProgress(surroundings, isWatched ? await segmentBytesOf(target) : 0);
    const findings = new Findings((finding) => {
      progress.clear();
      tell(finding, options, surroundings);
    });
    const totals = noTotals();
    const { index, topics } = await openBeside(target, options, findings, surroundings);
    try {
      await verifyTarget(target, { index, topics, progress }, findings, totals);
    } finally {
      progress.clear();
      await index?.close();
    }
    summarize(findings, totals, index !== undefined, options, surroundings);
    return findings.errors === 0 ? EXIT.done : EXIT.failed;
  });
}

/** What helps to judge the logs: undefined where it is not there, or not asked for. */
interface Beside {
  readonly index: IndexDatabase | undefined;
  readonly topics: KnownTopics | undefined;
}

interface Judging extends Beside {
  readonly progress: LogProgress;
}

/** A damaged index is a finding; a directory that a hub has open ends the command. */
async function openBeside(
  { dataDirectory }: InspectionTarget,
  options: VerifyOptions,
  findings: Findings,
  surroundings: Surroundings,
): Promise<Beside> {
  const nothing = { index: undefined, topics: undefined };
  if (!options.index || dataDirectory === undefined) return nothing;
  let index: IndexDatabase | undefined;
  try {
    index = await openInspectedIndex(nodeFileSystem, dataDirectory);
    const topics = await readKnownTopics(dataDirectory);
    if (index !== undefined && topics === undefined) {
      surroundings.err(
        'polylog: the index is not checked: without meta/ nobody knows whose rows are whose\n',
      );
    }
    return { index, topics };
  } catch (error) {
    await index?.close();
    if (!(error instanceof StorageError)) throw error;
    if (error.code === 'locked') {
      throw new StorageError('locked', `${error.message}: stop the hub, or leave the index out (--no-index)`);
    }
    findings.error('index', { path: dataDirectory }, error.message);
    return nothing;
  }
}

async function verifyTarget(
  target: InspectionTarget,
  beside: Judging,
  findings: Findings,
  totals: InspectionTotals,
): Promise<void> {
  if (target.kind === 'data') {
    await checkNodeFile(nodeFileSystem, target.path, findings);
    if (beside.topics !== undefined) checkPresence(target, beside.topics, findings);
  }
  let directory: string | undefined;
  for (const log of target.logs) {
    const topicDirectory = path.dirname(log.directory);
    const known = beside.topics?.get(log.topic ?? '');
    if (topicDirectory !== directory) {
      directory = topicDirectory;
      await checkTopicFile(nodeFileSystem, topicDirectory, known?.topicId, findings);
    }
    await verifyOne(log, beside, findings, totals);
  }
}

async function verifyOne(
  log: InspectedLog,
  { index, topics, progress }: Judging,
  findings: Findings,
  totals: InspectionTotals,
): Promise<void> {
  const logId = logIdOf(topics, log);
  const options = {
    fileSystem: nodeFileSystem,
    directory: log.directory,
    index: index !== undefined && logId !== undefined ? { database: index, logId } : undefined,
    compacts: topics?.get(log.topic ?? '')?.compacts ?? false,
    onRead: (bytes: number) => progress.at(bytes),
  };
  await verifyLog(options, findings, totals);
}

/** Topics that only one of the two knows, the MetaStore or the disk. A crash while one is made may leave that. */
function checkPresence(
  { path: data, logs }: InspectionTarget,
  topics: KnownTopics,
  findings: Findings,
): void {
  const onDisk = new Set(logs.map(({ topic, partition }) => `${topic}:${partition}`));
  for (const [name, { logIds }] of topics) {
    for (const partition of logIds.keys()) {
      if (onDisk.delete(`${name}:${partition}`)) continue;
      const made = `meta/ knows ${name}:${partition}, and it is not there; the next start makes it, empty`;
      findings.warning('records-missing', { path: path.join(data, 'topics', name, `${partition}`) }, made);
    }
  }
  for (const log of onDisk) {
    const [name = '', partition = ''] = log.split(':');
    const unknown = `meta/ does not know ${log}; nobody serves it`;
    findings.warning('left-over', { path: path.join(data, 'topics', name, partition) }, unknown);
  }
}

function tell(finding: Finding, { output }: VerifyOptions, surroundings: Surroundings): void {
  const { severity, code, position, offset, message } = finding;
  const file = shownPath(finding.path, surroundings);
  if (output === 'json') {
    surroundings.out(`${JSON.stringify({ severity, code, file, position, offset, message })}\n`);
    return;
  }
  const at = position === undefined ? '' : ` byte ${position}`;
  const of = offset === undefined ? '' : ` offset ${offset}`;
  surroundings.out(`${severity} ${code}: ${file}${at}${of}: ${message}\n`);
}

function summarize(
  { errors, warnings }: Findings,
  totals: InspectionTotals,
  withIndex: boolean,
  { output }: VerifyOptions,
  surroundings: Surroundings,
): void {
  if (output === 'json') {
    surroundings.out(`${JSON.stringify({ summary: { ...totals, withIndex, errors, warnings } })}\n`);
    return;
  }
  const { logs, segments, batches, records, bytes, indexEntries } = totals;
  const index = withIndex ? `${indexEntries} index entries` : 'the index left out';
  const seen = `${logs} logs, ${segments} segments, ${batches} batches, ${records} records, ${bytes} bytes, ${index}`;
  const wrong = errors === 0 ? 'nothing is wrong' : `${errors} wrong`;
  const warned = warnings === 0 ? '' : `, ${warnings} warnings`;
  surroundings.out(`${seen}: ${wrong}${warned}\n`);
}
