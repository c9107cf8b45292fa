// Why the hub did not start, as the one line that its user reads. What is expected to go wrong has a sentence and no
// stack; anything else is a fault of ours and keeps its stack.

export interface StartupProblem {
  readonly line: string;
  /** False = a fault of ours, to be logged whole. */
  readonly isExpected: boolean;
}

/** Node's errors of listening, in words. */
const LISTEN_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there already (stop it, or choose another port)',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'this user may not (ports below 1024 need a privilege)',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name cannot be looked up now',
};

/** Codes that the store, the hub and the broker give to what their user can do something about. */
const EXPECTED = new Set([
  'listen',
  'protocol',
  'topic-config',
  'declared-topic',
  'locked',
  'data-directory',
  'format',
  'disk-full',
  'io',
  'corrupt',
]);

/** Only the MetaStore keeps a hub from starting when it is damaged: a log that is answers for itself. */
const DAMAGED =
  ': put back a copy of it, or let `polylog log rebuild-meta` make it anew from what the topics say';

export function startupProblem(error: unknown): StartupProblem {
  const { message, code, cause } = partsOf(error);
  const reason = code === 'listen' ? LISTEN_REASONS[partsOf(cause).code ?? ''] : undefined;
  const nodeWords = partsOf(cause).message;
  const told =
    reason !== undefined && message.endsWith(nodeWords)
      ? message.slice(0, message.length - nodeWords.length) + reason
      : message;
  return {
    line: `cannot start: ${told.replace(/\s*\n\s*/g, ' ')}${code === 'corrupt' ? DAMAGED : ''}`,
    isExpected: code !== undefined && EXPECTED.has(code),
  };
}

function partsOf(error: unknown): { message: string; code: string | undefined; cause: unknown } {
  if (!(error instanceof Error)) return { message: String(error), code: undefined, cause: undefined };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return { message: error.message, code, cause: error.cause };
}
