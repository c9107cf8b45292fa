// Which programs from elsewhere are here, and why one is not.
import { isInstalled } from '../helpers/child.ts';
import type { ProgramName } from './case.ts';
import { prepareKafkaTools } from './kafka-tools.ts';
import { preparePython } from './python.ts';

const INSTALLED_BY: Readonly<Record<Exclude<ProgramName, 'kafka-tools' | 'python3'>, string>> = {
  kcat: 'apt-get install kcat',
  mosquitto_sub: 'apt-get install mosquitto-clients',
  mosquitto_pub: 'apt-get install mosquitto-clients',
  curl: 'apt-get install curl',
};

/** Why each missing program cannot be used; a program that is not in the map can. */
export async function missingPrograms(): Promise<ReadonlyMap<ProgramName, string>> {
  const missing = new Map<ProgramName, string>();
  for (const [program, command] of Object.entries(INSTALLED_BY)) {
    // The keys of a record of program names are program names.
    if (!(await isInstalled(program)))
      missing.set(program as ProgramName, `${program} is not installed (${command})`);
  }
  const problem = await prepareKafkaTools();
  if (problem !== undefined) missing.set('kafka-tools', problem);
  const pythonProblem = await preparePython();
  if (pythonProblem !== undefined) missing.set('python3', pythonProblem);
  return missing;
}
