// Calls of the contract test: records read, appended and followed.
import { type Area, refused } from './area.ts';

const PATH = '/api/v1/topics';
const READ = `${PATH}/written/records`;
const ndjson = { type: 'application/x-ndjson' };

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
  },
};
