// A measurement that is code: several ways to do something, taken in turns.
import type { Generators } from './generators.ts';
import type { Peer } from './peers.ts';
import type { LoadScenario, Measurement, Result } from './scenario.ts';

export interface Probe extends Measurement {
  open(bench: Bench): Promise<Probing>;
}

export type Scenario = LoadScenario | Probe;

export const isProbe = (scenario: Scenario): scenario is Probe => 'open' in scenario;

/** What a probe may use. */
export interface Bench {
  readonly generators: Generators;
  /** An empty one, of the probe's own. */
  readonly directory: string;
  /** Of the suite: what one row has made others may use. */
  readonly suiteDirectory: string;
  /** Multiplies counts and durations, for a quick look. */
  readonly scale: number;
  /** Of what is to be a large log. */
  readonly gib: number;
  /** Those that are asked for and can be started; why others cannot has been told. */
  peers(...names: readonly string[]): Promise<readonly Peer[]>;
}

/** Takes one measurement; what was measured before it in this round is known. */
export type Way = (round: Readonly<Partial<Record<string, Result>>>) => Promise<Result>;

/** What is measured in turns, in this order; `hub` is what the row is about. */
export interface Probing {
  readonly ways: Readonly<Record<string, Way>>;
  close(): Promise<void>;
}
