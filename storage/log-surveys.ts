// What lies in the directories of logs that are about to be opened. Who raises leader epochs asks first how far they are
// on disk, of thousands of logs at a start, and the opening that follows each answer need not look again.
//
// A survey is of one opening, the next one of the same topic: had the log been open since, files would have come that the
// survey does not know, and with them all that was appended.
import { errorCodeOf } from './errors.ts';
import { type LogSurvey, surveyLog } from './recovery.ts';
import type { StoreParts } from './store-parts.ts';

interface Ahead {
  readonly topicId: string;
  /** Undefined as long as it is being made, and when there is nothing. */
  survey: LogSurvey | undefined;
}

export class LogSurveys {
  readonly #parts: StoreParts;
  /** By directory. One that is being made is here already: who takes it out meanwhile has it count for nobody. */
  readonly #ahead = new Map<string, Ahead>();

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  /** Undefined when the directory is missing. @throws StorageError format; what the file system throws */
  async make(directory: string): Promise<LogSurvey | undefined> {
    try {
      return await surveyLog(this.#parts, directory);
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** The same of a log that nobody has open or is opening: the next opening has it too. */
  async makeAhead(directory: string, topicId: string): Promise<LogSurvey | undefined> {
    const ahead: Ahead = { topicId, survey: undefined };
    this.#ahead.set(directory, ahead);
    ahead.survey = await this.make(directory);
    return ahead.survey;
  }

  /** An opening begins: what was found ahead of it, if it was of the same topic. */
  take(directory: string, topicId: string): LogSurvey | undefined {
    const ahead = this.#ahead.get(directory);
    this.#ahead.delete(directory);
    return ahead?.topicId === topicId ? ahead.survey : undefined;
  }

  /** A topic is going, its directories with it. What is lost for others is a look at theirs. */
  clear(): void {
    this.#ahead.clear();
  }
}
