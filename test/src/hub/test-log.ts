// A log that keeps what it is told, for tests that look at it.
import type { Log } from '../../../protocols/port.ts';

export class TestLog implements Log {
  readonly entries: { readonly level: keyof Log; readonly event: string; readonly fields: object }[] = [];

  debug(event: string, fields: object = {}): void {
    this.entries.push({ level: 'debug', event, fields });
  }

  info(event: string, fields: object = {}): void {
    this.entries.push({ level: 'info', event, fields });
  }

  warn(event: string, fields: object = {}): void {
    this.entries.push({ level: 'warn', event, fields });
  }

  error(event: string, fields: object = {}): void {
    this.entries.push({ level: 'error', event, fields });
  }

  /** Events of a level, in order. */
  events(level: keyof Log): string[] {
    return this.entries.filter((entry) => entry.level === level).map((entry) => entry.event);
  }
}
