// What the admin API changes of the process it runs in: its configuration and its log. A hub that is part of another
// program may have neither; then the routes say so.
import type { Configuration } from '../config/configuration.ts';
import type { LogLevels } from '../log/levels.ts';
import { AdminError } from './errors.ts';

export interface Operations {
  readonly configuration?: Configuration | undefined;
  readonly levels?: LogLevels | undefined;
}

/** @throws AdminError `not_found` */
export function configurationOf({ configuration }: Operations): Configuration {
  if (configuration !== undefined) return configuration;
  throw new AdminError('not_found', 'this hub was not configured by a file');
}

/** @throws AdminError `not_found` */
export function levelsOf({ levels }: Operations): LogLevels {
  if (levels !== undefined) return levels;
  throw new AdminError('not_found', 'the log of this hub is not its own');
}
