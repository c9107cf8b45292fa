// Waiting for work that may hang, for so long.

/** Never rejects. The timer keeps the process alive: it must not end before what is waited for has been tried. */
export async function settledWithin(
  work: Promise<unknown>,
  limitMs: number,
): Promise<'settled' | 'late' | { readonly error: unknown }> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, limitMs, 'late');
  });
  const done = work.then(
    () => 'settled' as const,
    (error: unknown) => ({ error }),
  );
  const outcome = await Promise.race([done, late]);
  clearTimeout(timer);
  return outcome;
}
