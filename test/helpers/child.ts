// Starts programs for tests and benchmarks: their output is kept, their end is a promise, and none outlives us.
import { type ChildProcess, execFile, spawn } from 'node:child_process';

export interface Finished {
  /** null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export interface ChildOptions {
  readonly input?: Buffer | string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  /** The child is killed after this time; 60 s unless told. */
  readonly timeoutMs?: number;
}

/** Of each program's output: a Java stack trace or two, with what led to it. */
const DESCRIBED_CHARACTERS = 8_000;

const running = new Map<ChildProcess, Child>();
process.once('exit', () => {
  for (const child of running.keys()) child.kill('SIGKILL');
});

/** Every child that has not ended, with the end of what it said: for a failure that is a wait without end. */
export function describeRunning(): string {
  return [...running.values()]
    .map((child) => `${child.command}\n${child.output.slice(-DESCRIBED_CHARACTERS)}`)
    .join('\n');
}

/** Those under way: what a failure leaves behind can be told from what was there before it. */
export function runningChildren(): Set<Child> {
  return new Set(running.values());
}

/** Ends every child that is not to be kept. */
export async function endOthers(kept: ReadonlySet<Child>): Promise<void> {
  const others = [...running.values()].filter((child) => !kept.has(child));
  for (const child of others) child.kill('SIGKILL');
  await Promise.all(others.map(({ finished }) => finished));
}

/** A program under way. `waitFor` resolves with the output so far, as soon as it holds `pattern`. */
export class Child {
  readonly pid: number;
  readonly finished: Promise<Finished>;
  readonly command: string;
  readonly #process: ChildProcess;
  readonly #stdout: Buffer[] = [];
  readonly #stderr: Buffer[] = [];
  readonly #listeners = new Set<() => void>();
  #ended = false;

  constructor(program: string, args: readonly string[], options: ChildOptions = {}) {
    this.command = [program, ...args].join(' ');
    this.#process = spawn(program, args, {
      cwd: options.workingDirectory,
      env: { ...process.env, ...options.environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    running.set(this.#process, this);
    this.pid = this.#process.pid ?? -1;
    const timeout = setTimeout(() => this.kill('SIGKILL'), options.timeoutMs ?? 60_000);
    this.finished = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null): void => {
        clearTimeout(timeout);
        running.delete(this.#process);
        this.#ended = true;
        this.#notify();
        const [stdout, stderr] = [Buffer.concat(this.#stdout), Buffer.concat(this.#stderr)];
        resolve({ code, signal, stdout, stderr });
      };
      this.#process.once('close', end);
      this.#process.once('error', (error) => {
        this.#stderr.push(Buffer.from(`${error.message}\n`));
        end(127, null);
      });
    });
    this.#process.stdout?.on('data', (bytes: Buffer) => this.#take(this.#stdout, bytes));
    this.#process.stderr?.on('data', (bytes: Buffer) => this.#take(this.#stderr, bytes));
    // The program may have ended before it read what it was given; its exit code says so.
    this.#process.stdin?.on('error', () => undefined);
    this.#process.stdin?.end(options.input ?? '');
  }

  get output(): string {
    return Buffer.concat([...this.#stdout, ...this.#stderr]).toString();
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Rejects with all that was said when the program ends, or `timeoutMs` passes, without it. */
  waitFor(pattern: RegExp, timeoutMs = 30_000): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const settle = (): boolean => {
        const match = pattern.exec(this.output);
        if (match !== null) resolve(match);
        else if (this.#ended) reject(this.#without(pattern, 'ended'));
        return match !== null || this.#ended;
      };
      if (settle()) return;
      const timer = setTimeout(() => {
        this.#listeners.delete(listener);
        reject(this.#without(pattern, `did not say within ${timeoutMs} ms:`));
      }, timeoutMs);
      const listener = (): void => {
        if (!settle()) return;
        clearTimeout(timer);
        this.#listeners.delete(listener);
      };
      this.#listeners.add(listener);
    });
  }

  /** Resolves when it has said so many lines on its standard output, or has ended. */
  waitForLines(lines: number): Promise<void> {
    return new Promise((resolve) => {
      let seen = 0;
      let count = 0;
      const listener = (): void => {
        for (; seen < this.#stdout.length; seen++) {
          for (const byte of this.#stdout[seen]!) if (byte === 10) count++; // seen is below the length
        }
        if (count < lines && !this.#ended) return;
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
      listener();
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  #without(pattern: RegExp, what: string): Error {
    return new Error(`${this.command}: ${what} without ${pattern}; it said:\n${this.output}`);
  }

  #take(chunks: Buffer[], bytes: Buffer): void {
    chunks.push(bytes);
    this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Runs a program to its end; anything but exit code 0 is an error that holds all it said. */
export async function run(
  program: string,
  args: readonly string[],
  options: ChildOptions = {},
): Promise<Buffer> {
  const { code, stdout, stderr } = await new Child(program, args, options).finished;
  if (code !== 0) throw new Error(`${[program, ...args].join(' ')}: exit ${code}\n${stdout}${stderr}`);
  return stdout;
}

/** Whether a program of this name can be found. */
export function isInstalled(program: string): Promise<boolean> {
  return new Promise((resolve) => {
    execFile('/bin/sh', ['-c', 'command -v -- "$1"', 'sh', program], (error) => resolve(error === null));
  });
}
