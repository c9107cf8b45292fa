// Places in the log that this process has filled itself, by partition: what is read there is no news. Neighbours are one
// entry, so very many take little.

interface Stretch {
  readonly from: number;
  to: number;
}

export class OwnOffsets {
  /** By partition; in the order of offsets. */
  readonly #stretches = new Map<string, Stretch[]>();

  add(topic: string, partition: number, offset: number): void {
    const key = `${topic}/${partition}`;
    const own = this.#stretches.get(key) ?? [];
    const last = own.at(-1);
    if (last !== undefined && last.to === offset) last.to++;
    else own.push({ from: offset, to: offset + 1 });
    this.#stretches.set(key, own);
  }

  /** Whether an offset is one; asked in order, for those before it are forgotten. */
  take(topic: string, partition: number, offset: number): boolean {
    const key = `${topic}/${partition}`;
    const own = this.#stretches.get(key);
    if (own === undefined) return false;
    while (own.length > 0 && own[0]!.to <= offset) own.shift();
    if (own.length === 0) this.#stretches.delete(key);
    return own.length > 0 && own[0]!.from <= offset;
  }

  forget(topic: string): void {
    for (const key of this.#stretches.keys()) if (key.startsWith(`${topic}/`)) this.#stretches.delete(key);
  }
}
