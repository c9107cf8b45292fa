// Calls of the contract test: metrics.
import type { Area } from './area.ts';
import { refused } from './area.ts';

export const metricsArea: Area = {
  routes: {
    'GET /metrics': { right: [{ path: '/metrics', type: 'text/plain' }], wrong: [] },
    'GET /metrics/detailed': {
      right: [{ path: '/metrics/detailed?topic=a', type: 'text/plain' }],
      wrong: [
        refused('/metrics/detailed?topic=nothing', 404, 'not_found', 'topic'),
        refused(
          `/metrics/detailed?topic=${Array.from({ length: 101 }, (_, number) => `t${number}`)}`,
          400,
          'invalid_request',
          'topic',
        ),
      ],
    },
  },
};
