// What the `polylog log` commands share: from the words on the command line to a place in a data directory, and how
// what keeps a command from working is told.
import path from 'node:path';
import {
  findInspectionTarget,
  type InspectionTarget,
  nodeFileSystem,
  parseLogSelection,
  StorageError,
} from '../../storage/index.ts';
import { EXIT, type Surroundings } from './surroundings.ts';

export interface LogPlace {
  /** DIR */
  readonly path: string;
  /** TOPIC[:PARTITION] */
  readonly selection: string | undefined;
}

/** Runs `work` on what the words stand for; what goes wrong in the world is a line on stderr. */
export async function withLogPlace(
  place: LogPlace,
  surroundings: Surroundings,
  work: (target: InspectionTarget) => Promise<number>,
): Promise<number> {
  const selection = place.selection === undefined ? undefined : parseLogSelection(place.selection);
  if (place.selection !== undefined && selection === undefined) {
    surroundings.err(`polylog: ${place.selection} is not TOPIC or TOPIC:PARTITION\n`);
    return EXIT.wrongUsage;
  }
  try {
    const where = path.resolve(surroundings.workingDirectory, place.path);
    return await work(await findInspectionTarget(nodeFileSystem, where, selection));
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    surroundings.err(`polylog: ${error.message.replace(/\s*\n\s*/g, ' ')}\n`);
    return EXIT.failed;
  }
}

/** A file as it is shown: from the working directory where that is short, else whole. */
export function shownPath(file: string, surroundings: Surroundings): string {
  const relative = path.relative(surroundings.workingDirectory, file);
  return relative === '' || relative.startsWith('..') ? file : relative;
}
