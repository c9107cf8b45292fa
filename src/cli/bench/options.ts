// What `polylog bench` is told.

export type BenchProtocol = 'kafka' | 'mqtt' | 'bridge';

export interface BenchOptions {
  readonly records: number;
  readonly size: number;
  readonly topic: string;
  readonly rate?: number;
  readonly qos: 0 | 1 | 2;
  readonly output: 'table' | 'json';
  readonly url?: string;
  readonly username?: string;
  readonly kafka?: string;
  readonly kafkaTopic?: string;
}
