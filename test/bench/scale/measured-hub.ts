// The built hub as a process whose CPU time is read: what it takes for a piece of work, and for a start.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { type HubProcess, startHubProcess } from '../../helpers/hub-process.ts';
import type { Sample } from './curve.ts';

/** Limits that are not what is measured are out of the way. */
const CONFIG = `
[[listener]]
name = "kafka"
protocol = "kafka"
bind = "127.0.0.1:0"
limits = { connections = 30000 }

[[listener]]
name = "mqtt"
protocol = "mqtt"
bind = "127.0.0.1:0"
limits = { connections = 30000, connect_rate = 0 }

[kafka]
group_initial_rebalance_delay = "0s"

[mqtt]
subscriptions_max = 200000
sys_interval = "0s"
`;

/** Linux counts the CPU time of processes in ticks of 10 ms. */
const TICK_MICROSECONDS = 10_000;
const QUIET_STEP_MS = 20;
const QUIET_STEP_CPU_MICROSECONDS = 1_000;
const QUIET_STEPS = 3;
const QUIET_WAIT_MS = 15_000;

export class MeasuredHub {
  readonly #directory: string;
  #process: HubProcess;

  private constructor(directory: string, process: HubProcess) {
    this.#directory = directory;
    this.#process = process;
  }

  static async start(directory: string): Promise<MeasuredHub> {
    return new MeasuredHub(directory, await startHubProcess(directory, CONFIG, []));
  }

  get kafkaPort(): number {
    return this.#process.kafkaPort;
  }

  get mqttPort(): number {
    return this.#process.mqttPort;
  }

  /** What `work` takes, once the hub has nothing left to do of what was before. `work` says how many units it was. */
  async sample(work: () => Promise<number>): Promise<Sample> {
    await this.whenQuiet();
    const cpuBefore = cpuMicroseconds(this.#process.pid);
    const startMs = performance.now();
    const units = await work();
    return {
      cpuMicroseconds: cpuMicroseconds(this.#process.pid) - cpuBefore,
      wallMicroseconds: (performance.now() - startMs) * 1000,
      units,
    };
  }

  /** Ends it, as it should be ended or as it should not, and starts it again: what it takes until it serves. */
  async restart(how: 'stopped' | 'killed'): Promise<Sample> {
    if (how === 'killed') await this.#process.kill();
    else await this.#process.stop();
    const startMs = performance.now();
    this.#process = await startHubProcess(this.#directory, CONFIG, []);
    return {
      cpuMicroseconds: cpuMicroseconds(this.#process.pid),
      wallMicroseconds: (performance.now() - startMs) * 1000,
      units: 1,
    };
  }

  /** Work behind what was answered is done, or there is no end to it. */
  async whenQuiet(): Promise<void> {
    const untilMs = performance.now() + QUIET_WAIT_MS;
    let before = cpuMicroseconds(this.#process.pid);
    for (let quiet = 0; quiet < QUIET_STEPS && performance.now() < untilMs; ) {
      await setTimeout(QUIET_STEP_MS);
      const now = cpuMicroseconds(this.#process.pid);
      quiet = now - before < QUIET_STEP_CPU_MICROSECONDS ? quiet + 1 : 0;
      before = now;
    }
  }

  /** What it had is thrown away: it may as well be killed. */
  async close(): Promise<void> {
    await this.#process.kill();
  }
}

/** Of all threads so far, in nanoseconds where the scheduler tells, else in ticks. */
function cpuMicroseconds(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]);
    } catch {
      return cpuTicks(pid) * TICK_MICROSECONDS;
    }
  }
  return nanoseconds / 1000;
}

function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
  return Number(fields[11]) + Number(fields[12]);
}
