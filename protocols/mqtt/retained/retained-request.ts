// What of a subscription decides about its retained messages.
import type { QoS } from '../packets/publish.ts';

export interface RetainedRequest {
  readonly filter: string;
  readonly qos: QoS;
  readonly noLocal: boolean;
  /** 0 = none. */
  readonly identifier: number;
}
