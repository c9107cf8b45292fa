// What a client says of a message that came to it.

/** null or none is what the message did not have. */
export interface SaidMessage {
  readonly topic: string;
  /** As hexadecimal, as is the correlation data. */
  readonly payload: string;
  readonly contentType: string | null;
  readonly responseTopic: string | null;
  readonly correlationData: string | null;
  readonly userProperties: readonly (readonly [name: string, value: string])[];
}
