// How a log ends: it closes whole, or lets go of what it has. What is under way is waited for first; a log that has failed
// writes nothing more, for its files tell more than this process can: recovery has to look.
import type { Committer } from './committer.ts';
import { storageErrorOf } from './errors.ts';
import type { LogAppender } from './log-appender.ts';
import type { LogBody } from './log-body.ts';
import type { LogCommits } from './log-commits.ts';
import type { LogFiles } from './log-files.ts';
import type { LogReads } from './log-reads.ts';
import type { LogState } from './log-state.ts';
import type { LogTrimmer } from './log-trimmer.ts';
import type { OpenFiles } from './open-files.ts';

export interface ClosingLog extends LogBody {
  readonly state: LogState;
  readonly committer: Committer;
  readonly commits: LogCommits;
  readonly appender: LogAppender;
  readonly trimmer: LogTrimmer;
  readonly smallFiles: LogFiles;
  /** Undefined when there was no reader. */
  reads(): LogReads | undefined;
  readonly openFiles: OpenFiles;
}

/** Flushes, and leaves nothing to scan for the next opening. @throws StorageError io */
export async function closeLog(log: ClosingLog): Promise<void> {
  const { state, committer, trimmer } = log;
  if (!state.isOpen) return;
  state.closed();
  await committer.flush();
  await committer.idle();
  await committer.endRoom();
  await trimmer.settled();
  try {
    if (state.failed === undefined) await closeFiles(log);
  } catch (error) {
    throw storageErrorOf(error, `closing ${log.name}`);
  } finally {
    await release(log);
  }
}

/** Lets go of everything; the log has been marked as deleted. */
export async function abandonLog(log: ClosingLog): Promise<void> {
  await log.committer.idle();
  await log.trimmer.settled();
  log.appender.failed();
  await release(log);
}

async function closeFiles(log: ClosingLog): Promise<void> {
  const { background, completion, segments } = log;
  const { active } = log.appender;
  if (active !== undefined) background.add('indexing', completion.closeSegment(active));
  await completion.settled();
  await log.smallFiles.close(segments.newest && log.commits.checkpointOf(segments.newest));
}

async function release(log: ClosingLog): Promise<void> {
  // First: whatever still waits for its turn would wake up among the files of the log's successor.
  log.smallFiles.abandon();
  await log.reads()?.byOffset.close();
  await log.completion.settled();
  await log.background.settled();
  log.committer.close();
  log.appender.producers?.release();
  log.tail.release();
  for (const segment of log.segments) log.openFiles.drop(segment.path);
}
