// What commands that talk to a running hub have in common: where it is, a request to its admin API, and what became of it.
import { type Command, Option } from 'commander';
import { EXIT, type Surroundings } from './surroundings.ts';

export interface AdminOptions {
  readonly admin?: string;
  readonly output: 'table' | 'json';
}

const DEFAULT_URL = 'http://127.0.0.1:9640';
const ANSWER_MS = 60_000;
const PAGE_ITEMS = 1_000;

export function addAdminOptions(command: Command): Command {
  return command
    .option('--admin <url>', `the hub's admin API (default: POLYLOG_ADMIN, else ${DEFAULT_URL})`)
    .addOption(
      new Option('--output <form>', 'for people or for programs').choices(['table', 'json']).default('table'),
    )
    .showHelpAfterError(`(${pathOf(command)} --help shows what there is)`)
    .exitOverride();
}

/** As it is typed: `polylog topics list`. */
function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/** What ends a command: a message, and the exit code that says what kind of failure it is. */
export class AdminFailure extends Error {
  readonly exitCode: number;
  /** The API's own, when it has refused. */
  readonly code: string | undefined;
  /** The parameter that the API says is wrong. */
  readonly field: string | undefined;

  constructor(message: string, exitCode: number, { code, field }: Pick<Refusal, 'code' | 'field'> = {}) {
    super(message);
    this.name = 'AdminFailure';
    this.exitCode = exitCode;
    this.code = code;
    this.field = field;
  }
}

/** Runs a command; its failure is told on stderr. */
export async function withAdmin(
  options: AdminOptions,
  surroundings: Surroundings,
  run: (admin: AdminClient) => Promise<void>,
): Promise<number> {
  try {
    await run(new AdminClient(options, surroundings));
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof AdminFailure)) throw error;
    surroundings.err(`${error.message}\n`);
    return error.exitCode;
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Request {
  readonly body?: unknown;
  /** Of a body that is sent as it is; absent = JSON. */
  readonly contentType?: string;
  /** Ends it from outside; without one it may take a minute. */
  readonly signal?: AbortSignal;
}

export class AdminClient {
  readonly #base: URL;
  readonly #token: string | undefined;

  constructor({ admin }: AdminOptions, { environment }: Pick<Surroundings, 'environment'>) {
    const told = admin ?? environment['POLYLOG_ADMIN'] ?? DEFAULT_URL;
    const url = URL.canParse(told) ? new URL(told) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      throw new AdminFailure(`${told} is no URL such as ${DEFAULT_URL}`, EXIT.wrongUsage);
    this.#base = url;
    this.#token = environment['POLYLOG_TOKEN'];
  }

  /** @param path with its parts encoded. @returns the answer's body, as the API's document promises it. */
  async ask<Body>(method: Method, path: string, request: Request = {}): Promise<Body> {
    const answer = await this.#send(method, path, request);
    const text = await answer.text().catch((error) => this.#lost(error));
    // The schema that the hub checks its answers against.
    return (text === '' ? undefined : JSON.parse(text)) as Body;
  }

  /** The answer as it comes, line by line, without its line ends. */
  async *lines(path: string, request: Request = {}): AsyncGenerator<string> {
    let rest = '';
    try {
      const { body } = await this.#send('GET', path, request);
      if (body === null) return;
      for await (const piece of body.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + piece).split('\n');
        rest = lines.pop() ?? '';
        yield* lines;
      }
    } catch (error) {
      if (request.signal?.aborted === true) return;
      if (error instanceof AdminFailure) throw error;
      this.#lost(error);
    }
    if (rest !== '') yield rest;
  }

  async #send(
    method: Method,
    path: string,
    { body, contentType = 'application/json', signal }: Request,
  ): Promise<Response> {
    const url = new URL(path, this.#base);
    const headers = {
      ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      ...(body === undefined ? {} : { 'content-type': contentType }),
    };
    const isJson = contentType === 'application/json';
    const answer = await fetch(url, {
      method,
      headers,
      signal: signal ?? AbortSignal.timeout(ANSWER_MS),
      // What is not JSON is text.
      ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : String(body) }),
    }).catch((error) => {
      throw new AdminFailure(`${this.#base.origin} cannot be reached: ${reasonOf(error)}`, EXIT.notReachable);
    });
    if (answer.ok) return answer;
    const refusal = refusalOf(await answer.json().catch(() => undefined));
    // What is wrong with a request was typed by somebody; where it was not, the command says so.
    const exitCode = refusal.code === 'invalid_request' ? EXIT.wrongUsage : EXIT.failed;
    throw new AdminFailure(refusal.message ?? `${url} answered ${answer.status}`, exitCode, refusal);
  }

  #lost(error: unknown): never {
    throw new AdminFailure(
      `${this.#base.origin} broke off its answer: ${reasonOf(error)}`,
      EXIT.notReachable,
    );
  }

  /** All items of a list, page by page. */
  async *items<Item>(path: string): AsyncGenerator<Item> {
    const separator = path.includes('?') ? '&' : '?';
    let cursor = '';
    do {
      const page = await this.ask<{ items: Item[]; next: string | null }>(
        'GET',
        `${path}${separator}limit=${PAGE_ITEMS}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      yield* page.items;
      cursor = page.next ?? '';
    } while (cursor !== '');
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // What fetch says is that it failed; why is its cause.
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}

interface Refusal {
  readonly code?: string;
  readonly field?: string;
  readonly message?: string;
}

interface ErrorAnswer {
  readonly error?: { readonly [member in keyof Refusal | 'hint']?: unknown };
}

function refusalOf(body: unknown): Refusal {
  if (typeof body !== 'object' || body === null) return {};
  const { code, field, message, hint } = (body as ErrorAnswer).error ?? {}; // an object, of which nothing is taken for granted
  if (typeof message !== 'string') return {};
  return {
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof field === 'string' ? { field } : {}),
    message: typeof hint === 'string' ? `${message} (${hint})` : message,
  };
}
