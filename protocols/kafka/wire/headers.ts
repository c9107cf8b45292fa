// Request and response headers, and whole frames: int32 size, header, message.
// Which header version a message has follows from its schema: flexible messages have flexible headers.

import { malformed } from './errors.ts';
import type { Message } from './message.ts';
import type { WireReader } from './reader.ts';
import type { Fields, StructInput } from './schema.ts';
import type { WireWriter } from './writer.ts';

export interface RequestHeader {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly clientId: string | null;
}

/**
 * The part that all header versions share. Once the message is known, `finishRequestHeader` must follow.
 * The client id has an int16 length in flexible headers too.
 */
export function readRequestHeader(reader: WireReader): RequestHeader {
  const apiKey = reader.int16();
  const apiVersion = reader.int16();
  const correlationId = reader.int32();
  const clientIdLength = reader.int16();
  if (clientIdLength < -1) throw malformed(`a client id of ${clientIdLength} bytes`);
  return {
    apiKey,
    apiVersion,
    correlationId,
    clientId: clientIdLength < 0 ? null : reader.text(clientIdLength),
  };
}

/** Skips the tagged fields of a version 2 header, if the message has one. */
export function finishRequestHeader<F extends Fields>(
  reader: WireReader,
  request: Message<F>,
  version: number,
): void {
  if (request.hasFlexibleHeader(version)) reader.skipTaggedFields();
}

/** Writes one whole response frame. If it throws (WireError), the writer is as it was before. */
export function writeResponseFrame<F extends Fields>(
  writer: WireWriter,
  correlationId: number,
  response: Message<F>,
  version: number,
  value: StructInput<F>,
): void {
  const frame = writer.startFrame();
  try {
    writer.int32(correlationId);
    if (response.hasFlexibleHeader(version)) writer.unsignedVarint(0);
    response.write(writer, version, value);
    writer.endFrame(frame);
  } catch (error) {
    writer.rewind(frame);
    throw error;
  }
}

/** Writes one whole request frame: what a client sends. If it throws (WireError), the writer is as it was before. */
export function writeRequestFrame<F extends Fields>(
  writer: WireWriter,
  header: RequestHeader,
  request: Message<F>,
  value: StructInput<F>,
): void {
  const frame = writer.startFrame();
  try {
    writer.int16(header.apiKey);
    writer.int16(header.apiVersion);
    writer.int32(header.correlationId);
    if (header.clientId === null) writer.int16(-1);
    else writer.string(header.clientId);
    if (request.hasFlexibleHeader(header.apiVersion)) writer.unsignedVarint(0);
    request.write(writer, header.apiVersion, value);
    writer.endFrame(frame);
  } catch (error) {
    writer.rewind(frame);
    throw error;
  }
}
