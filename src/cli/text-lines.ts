// The standard input as lines, as they come. A line ends with LF or with CR LF, as text files of either kind of system have
// it; what is behind the last one is a line too, if there is anything.
import type { Surroundings } from './surroundings.ts';

/**
 * @yields the lines that one piece of the input has completed; none are kept waiting
 * Ends when the input does, or when the command is interrupted.
 */
export async function* textLines({ input, interrupted }: Surroundings): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of untilInterrupted(input, interrupted)) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) yield lines.map(withoutReturn);
  }
  rest += decoder.decode();
  if (rest !== '' && interrupted?.aborted !== true) yield [withoutReturn(rest)];
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

/** What comes until the signal; the piece that is waited for then is nobody's. */
async function* untilInterrupted(
  input: AsyncIterable<Uint8Array> | undefined,
  interrupted: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (input === undefined) return;
  const pieces = input[Symbol.asyncIterator]();
  // Of the piece that is waited for. A race with one promise for all of them would hold every piece until that settles.
  let stopWaiting = (): void => {};
  const onAbort = (): void => stopWaiting();
  interrupted?.addEventListener('abort', onAbort);
  try {
    while (interrupted?.aborted !== true) {
      const next = await new Promise<IteratorResult<Uint8Array> | undefined>((resolve, reject) => {
        stopWaiting = () => resolve(undefined);
        pieces.next().then(resolve, reject);
      });
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    interrupted?.removeEventListener('abort', onAbort);
  }
}
