// Which header a message has, and whole frames.

import { describe, expect, it } from 'vitest';
import {
  ApiVersionsRequest,
  ApiVersionsResponse,
} from '../../../../protocols/kafka/messages/api-versions.ts';
import { HeartbeatRequest, HeartbeatResponse } from '../../../../protocols/kafka/messages/heartbeat.ts';
import {
  finishRequestHeader,
  readRequestHeader,
  writeRequestFrame,
  writeResponseFrame,
} from '../../../../protocols/kafka/wire/headers.ts';
import { WireReader } from '../../../../protocols/kafka/wire/reader.ts';
import { WireWriter } from '../../../../protocols/kafka/wire/writer.ts';

const heartbeat = { groupId: 'g', generationId: 1, memberId: 'm' };

describe('a request frame', () => {
  it('has header version 1 before flexible versions', () => {
    const writer = new WireWriter();
    writeRequestFrame(
      writer,
      { apiKey: 12, apiVersion: 3, correlationId: 258, clientId: 'me' },
      HeartbeatRequest,
      heartbeat,
    );
    expect(writer.take().toString('hex')).toBe(
      '00000018' + '000c' + '0003' + '00000102' + '00026d65' + '000167' + '00000001' + '00016d' + 'ffff',
    );
  });

  it('has header version 2 in flexible ones, whose client id is not compact', () => {
    const writer = new WireWriter();
    writeRequestFrame(
      writer,
      { apiKey: 12, apiVersion: 4, correlationId: 258, clientId: null },
      HeartbeatRequest,
      heartbeat,
    );
    expect(writer.take().toString('hex')).toBe(
      '00000015' + '000c' + '0004' + '00000102' + 'ffff' + '00' + '0267' + '00000001' + '026d' + '00' + '00',
    );
  });

  it('is read back, unknown header tags skipped', () => {
    const reader = new WireReader(
      Buffer.from(
        '000c' +
          '0004' +
          '00000102' +
          '00026d65' +
          '01' +
          '05' +
          '01' +
          'ff' +
          '0267' +
          '00000001' +
          '026d' +
          '00' +
          '00',
        'hex',
      ),
    );
    const header = readRequestHeader(reader);
    expect(header).toEqual({ apiKey: 12, apiVersion: 4, correlationId: 258, clientId: 'me' });
    finishRequestHeader(reader, HeartbeatRequest, header.apiVersion);
    expect(HeartbeatRequest.read(reader, 4)).toEqual({ ...heartbeat, groupInstanceId: null });
    expect(reader.remaining).toBe(0);
  });

  it.each(['', '000c0004', '000c000400000102', '000c000400000102fffe', '000c0004000001027fff61'])(
    'cut to %s is malformed',
    (hex) => {
      const reader = new WireReader(Buffer.from(hex, 'hex'));
      expect(() => readRequestHeader(reader)).toThrow(expect.objectContaining({ code: 'malformed' }));
    },
  );
});

describe('a response frame', () => {
  it('has header version 0 before flexible versions, and 1 in them', () => {
    const writer = new WireWriter();
    writeResponseFrame(writer, 9, HeartbeatResponse, 3, { errorCode: 27 });
    writeResponseFrame(writer, 9, HeartbeatResponse, 4, { errorCode: 27 });
    expect(writer.take().toString('hex')).toBe(
      '0000000a' +
        '00000009' +
        '00000000' +
        '001b' +
        '0000000c' +
        '00000009' +
        '00' +
        '00000000' +
        '001b' +
        '00',
    );
  });

  it('of ApiVersions always has header version 0 (KIP-511)', () => {
    expect(ApiVersionsResponse.isFlexible(3)).toBe(true);
    expect(ApiVersionsResponse.hasFlexibleHeader(3)).toBe(false);
    expect(ApiVersionsRequest.hasFlexibleHeader(3)).toBe(true);
  });

  it('that cannot be written leaves nothing behind', () => {
    const writer = new WireWriter();
    writeResponseFrame(writer, 1, HeartbeatResponse, 4, { errorCode: 0 });
    const before = writer.length;
    expect(() => writeResponseFrame(writer, 2, HeartbeatResponse, 4, { errorCode: 70_000 })).toThrow();
    expect(writer.length).toBe(before);
  });
});
