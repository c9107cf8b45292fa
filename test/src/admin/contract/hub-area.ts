// Calls of the contract test: health, what runs here, and the document itself.
import type { Area } from './area.ts';

export const hubArea: Area = {
  routes: {
    'GET /health/live': { right: ['/health/live'], wrong: [] },
    'GET /health/ready': { right: ['/health/ready'], wrong: [] },
    'GET /api/v1/info': { right: ['/api/v1/info'], wrong: [] },
    'GET /api/v1/listeners': { right: ['/api/v1/listeners'], wrong: [] },
    'GET /api/v1/openapi.json': { right: ['/api/v1/openapi.json'], wrong: [] },
  },
};
