// Calls of the contract test: records read, appended and followed.
import { type Area, refused } from './area.ts';

const PATH = '/api/v1/topics';
const READ = `${PATH}/written/records`;
const ndjson = { type: 'application/x-ndjson' };
const lines = { 'content-type': 'application/x-ndjson' };

export const recordsArea: Area = {
  prepare: async ({ hub, append }) => {
    for (const name of ['written', 'hidden'])
      await hub.topics.create({ name, partitions: 2, replicationFactor: 1, config: {} });
    await append('written', 0, [
      { key: 'k', value: '{"a":1}', headers: [['h', null]] },
      { key: null, value: Buffer.from([0xff]) },
    ]);
  },
  routes: {
    [`GET ${PATH}/{topic}/records`]: {
      right: [
        { path: READ, ...ndjson },
        { path: `${READ}?from=-1&to=end&partition=0,1&limit=1`, ...ndjson },
        { path: `${READ}?key=k&contains=a&isolation=read_uncommitted&valueEncoding=json`, ...ndjson },
        { path: `${READ}?key=aw%3D%3D&keyEncoding=base64&from=@-1h`, ...ndjson },
      ],
      wrong: [
        refused(`${PATH}/none/records`, 404, 'not_found', 'topic'),
        refused(`${PATH}/hidden/records`, 403, 'forbidden'),
        refused(`${READ}?partition=7`, 404, 'not_found', 'partition'),
        refused(`${READ}?from=yesterday`, 400, 'invalid_request', 'from'),
        refused(`${READ}?to=@1764000000`, 400, 'invalid_request', 'to'),
        refused(`${READ}?limit=0`, 400, 'invalid_request', 'limit'),
        refused(`${READ}?isolation=none`, 400, 'invalid_request', 'isolation'),
        refused(`${READ}?valueEncoding=hex`, 400, 'invalid_request', 'valueEncoding'),
        refused(`${READ}?key=*&keyEncoding=base64`, 400, 'invalid_request', 'key'),
        refused(`${READ}?cursor=AAAA`, 400, 'invalid_request', 'cursor'),
        refused(`${READ}?grep=x`, 400, 'invalid_request', 'grep'),
      ],
    },
    [`POST ${PATH}/{topic}/records`]: {
      right: [
        {
          path: READ,
          body: { key: 'k', value: 'v', headers: [{ name: 'h' }], partition: 1, timestampMs: 1 },
        },
        { path: READ, body: '{"value":1}\n\n{"value":"AP8=","valueEncoding":"base64"}\n', headers: lines },
        { path: `${PATH}/made-by-use/records`, body: {} },
      ],
      wrong: [
        { path: `${PATH}/hidden/records`, body: {}, refused: [403, 'forbidden'] },
        { path: `${PATH}/__consumer_offsets/records`, body: {}, refused: [403, 'internal_topic'] },
        { path: `${PATH}/a%20b/records`, body: {}, refused: [400, 'invalid_request', 'topic'] },
        { path: READ, body: { partition: 7 }, refused: [404, 'not_found', 'partition'] },
        { path: READ, body: { partition: -1 }, refused: [400, 'invalid_request', 'partition'] },
        { path: READ, body: { val: 1 }, refused: [400, 'invalid_request', 'val'] },
        { path: READ, body: { value: 1, valueEncoding: 'utf8' }, refused: [400, 'invalid_request', 'value'] },
        {
          path: READ,
          body: { value: '*', valueEncoding: 'base64' },
          refused: [400, 'invalid_request', 'value'],
        },
        { path: READ, body: { value: '\ud800' }, refused: [400, 'invalid_request', 'value'] },
        { path: READ, body: { timestampMs: 1e15 }, refused: [400, 'invalid_request', 'timestampMs'] },
        { path: READ, body: { value: 'x'.repeat(2 ** 20) }, refused: [413, 'payload_too_large', 'value'] },
        { path: READ, body: '{}\n{', headers: lines, refused: [400, 'invalid_request', 'records.1'] },
        { path: READ, body: '', headers: lines, refused: [400, 'invalid_request', 'body'] },
        {
          path: READ,
          body: Buffer.from([0x22, 0xff, 0x22]),
          headers: lines,
          refused: [400, 'invalid_request', 'body'],
        },
        { path: READ, body: 'x'.repeat(17 * 2 ** 20), headers: lines, refused: [413, 'payload_too_large'] },
        {
          path: READ,
          body: 'a',
          headers: { 'content-type': 'text/plain' },
          refused: [415, 'unsupported_media_type'],
        },
      ],
    },
    [`GET ${PATH}/{topic}/records/{partition}/{offset}`]: {
      right: [
        `${READ}/0/0`,
        `${READ}/0/1?keyEncoding=utf8&valueEncoding=json`,
        { path: `${READ}/0/0?as=value`, type: 'application/octet-stream' },
        { path: `${READ}/0/1?as=key`, status: 204 },
      ],
      wrong: [
        refused(`${READ}/0/99`, 404, 'not_found', 'offset'),
        refused(`${READ}/0/x`, 400, 'invalid_request', 'offset'),
        refused(`${READ}/7/0`, 404, 'not_found', 'partition'),
        refused(`${READ}/0/0?as=header`, 400, 'invalid_request', 'as'),
        refused(`${PATH}/none/records/0/0`, 404, 'not_found', 'topic'),
        refused(`${PATH}/hidden/records/0/0`, 403, 'forbidden'),
      ],
    },
    [`GET ${PATH}/{topic}/tail`]: {
      right: [{ path: `${PATH}/written/tail?from=start&partition=0`, type: 'text/event-stream', events: 3 }],
      wrong: [
        refused(`${PATH}/none/tail`, 404, 'not_found', 'topic'),
        refused(`${PATH}/hidden/tail`, 403, 'forbidden'),
        refused(`${PATH}/written/tail?partition=7`, 404, 'not_found', 'partition'),
        refused(`${PATH}/written/tail?from=soon`, 400, 'invalid_request', 'from'),
        refused(`${PATH}/written/tail?overflow=fast`, 400, 'invalid_request', 'overflow'),
        refused(`${PATH}/written/tail?limit=1`, 400, 'invalid_request', 'limit'),
        {
          path: `${PATH}/written/tail`,
          headers: { 'last-event-id': '0:1,7:0' },
          refused: [400, 'invalid_request', 'Last-Event-ID'],
        },
      ],
    },
  },
};
