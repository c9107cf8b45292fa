// What a scale curve is, as data: something of which there may be much, and what a unit of work costs the hub beside it.

/** Work of a known size, and what it took. */
export interface Sample {
  /** Of all threads of the hub; the client's is not in it. */
  readonly cpuMicroseconds: number;
  readonly wallMicroseconds: number;
  /** Records, commits, starts: what the cost is a cost of. */
  readonly units: number;
}

/** A hub with so many of something. */
export interface World {
  close(): Promise<void>;
}

export interface Figure<W extends World = World> {
  readonly name: string;
  /** Cost of one of these. */
  readonly unit: string;
  /** `flat`, or why it is not. */
  readonly expectation: string;
  /** What is measured is a start: there is nothing to warm up. */
  readonly isCold?: boolean;
  // A method, so that figures of any world can stand in one list.
  measure(world: W): Promise<Sample>;
}

export interface Curve<W extends World = World> {
  /** Names its plot as well. */
  readonly name: string;
  readonly title: string;
  /** What grows. */
  readonly axis: { readonly label: string; readonly format: (value: number) => string };
  /** The first is what the others are compared with. */
  readonly points: readonly number[];
  /** In the order in which they are measured. */
  readonly figures: readonly Figure<W>[];
  /** The cost per unit is told for so much of something as well: a second plot. */
  readonly alsoPer?: { readonly unit: string; readonly perUnit: (point: number) => number };
  open(point: number, directory: string): Promise<W>;
}

export function count(value: number): string {
  return value.toLocaleString('en');
}

/** Powers of ten. */
export function byteSize(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  const index = Math.min(units.length - 1, Math.floor(Math.log10(value) / 3 + 1e-9));
  return `${Number((value / 1000 ** index).toPrecision(3))} ${units[index]}`;
}
