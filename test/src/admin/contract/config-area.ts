// Calls of the contract test: the configuration and the loggers.
import type { Area } from './area.ts';
import { refused } from './area.ts';

const toml = { 'content-type': 'application/toml' };
const SOUND = '[[listener]]\nname = "k"\nprotocol = "kafka"\nbind = "127.0.0.1:0"\n';
const UNSOUND = '[mqtt]\nrecieve_maximum = 3\n';

export const configArea: Area = {
  routes: {
    'GET /api/v1/config': { right: ['/api/v1/config'], wrong: [] },
    'POST /api/v1/config:check': {
      right: [
        { path: '/api/v1/config:check', body: SOUND, headers: toml },
        { path: '/api/v1/config:check', body: UNSOUND, headers: toml },
        { path: '/api/v1/config:check', body: 'not TOML', headers: toml },
      ],
      wrong: [
        {
          ...refused('/api/v1/config:check', 415, 'unsupported_media_type'),
          body: '<x>',
          headers: { 'content-type': 'a/b' },
        },
        { ...refused('/api/v1/config:check', 400, 'invalid_request'), body: { toml: SOUND } },
      ],
    },
    'POST /api/v1/config:reload': { right: [{ path: '/api/v1/config:reload' }], wrong: [] },
    'GET /api/v1/loggers': { right: ['/api/v1/loggers'], wrong: [] },
    'GET /api/v1/loggers/{name}': {
      right: ['/api/v1/loggers/root', '/api/v1/loggers/storage'],
      wrong: [refused('/api/v1/loggers/nobody', 400, 'invalid_request', 'name')],
    },
    'PUT /api/v1/loggers/{name}': {
      right: [
        { path: '/api/v1/loggers/mqtt', body: { level: 'error', forSeconds: 60 } },
        { path: '/api/v1/loggers/mqtt', body: { level: 'warn' } },
        { path: '/api/v1/loggers/mqtt', body: { level: null } },
      ],
      wrong: [
        { ...refused('/api/v1/loggers/mqtt', 400, 'invalid_request', 'level'), body: { level: 'loud' } },
        { ...refused('/api/v1/loggers/mqtt', 400, 'invalid_request', 'level'), body: {} },
        {
          ...refused('/api/v1/loggers/mqtt', 400, 'invalid_request', 'forSeconds'),
          body: { level: 'warn', forSeconds: 0 },
        },
        {
          ...refused('/api/v1/loggers/mqtt', 400, 'invalid_request', 'forever'),
          body: { level: 'warn', forever: true },
        },
        { ...refused('/api/v1/loggers/mqtt', 415, 'unsupported_media_type'), body: SOUND, headers: toml },
        { ...refused('/api/v1/loggers/nobody', 400, 'invalid_request', 'name'), body: { level: 'warn' } },
      ],
    },
  },
};
