// `polylog check`: validates a configuration; `--print` shows what is in effect and where each value comes from.
import { printConfig } from '../config/print.ts';
import { type ConfigOptions, configFromOptions } from './config-option.ts';
import { EXIT, type Surroundings } from './surroundings.ts';

export interface CheckOptions extends ConfigOptions {
  readonly print?: boolean;
}

export async function check(options: CheckOptions, surroundings: Surroundings): Promise<number> {
  const config = await configFromOptions(options, surroundings);
  if (!config) return EXIT.failed;
  if (options.print) surroundings.out(printConfig(config.written));
  else surroundings.out(`${config.file}: nothing wrong\n`);
  return EXIT.done;
}
