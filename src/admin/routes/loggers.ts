// GET /api/v1/loggers, GET and PUT /api/v1/loggers/{name}: how much each part of the hub logs, changed while it runs.
import * as z from 'zod';
import { LEVEL_NAMES, LEVELS, type LevelView } from '../../log/levels.ts';
import type { HttpServer } from '../http-server.ts';
import { levelsOf, type Operations } from '../operations.ts';
import { errorResponses, milliseconds } from '../shapes.ts';

const FOR_SECONDS_MAX = 7 * 86_400;

const loggerShape = z
  .strictObject({
    name: z.enum(LEVEL_NAMES),
    level: z.enum(LEVELS),
    source: z.enum(['config', 'runtime', 'root']).meta({
      description: '`root`: nothing is said of this logger, so what is said of root counts.',
    }),
    untilMs: milliseconds.nullable().meta({ description: 'When it goes back by itself; null: it does not.' }),
  })
  .meta({
    id: 'Logger',
    description: 'How much a part of the hub logs.',
    examples: [{ name: 'mqtt', level: 'debug', source: 'runtime', untilMs: 1764000000000 }],
  });

const loggerPage = z
  .strictObject({ items: z.array(loggerShape), next: z.null() })
  .meta({ id: 'LoggerPage', description: 'All loggers.' });

const params = z.strictObject({ name: z.enum(LEVEL_NAMES) });

const changeShape = z
  .strictObject({
    level: z.enum(LEVELS).nullable().meta({ description: 'null: as if nothing had been said at run time.' }),
    forSeconds: z
      .int()
      .min(1)
      .max(FOR_SECONDS_MAX)
      .optional()
      .meta({ description: 'It goes back by itself after so long. Absent: it stays until a restart.' }),
  })
  .meta({
    id: 'LoggerChange',
    description: 'How much it is to log, and for how long.',
    examples: [{ level: 'debug', forSeconds: 600 }],
  });

export function loggerRoutes(server: HttpServer, operations: Operations): void {
  server.get('/api/v1/loggers', {
    config: { role: 'viewer', refuses: ['not_found'] },
    schema: {
      operationId: 'listLoggers',
      summary: 'The loggers: root, which stands for all, and one for each part of the hub.',
      tags: ['config'],
      response: {
        200: loggerPage,
        ...errorResponses,
      },
    },
    handler: () => {
      const levels = levelsOf(operations);
      return { items: LEVEL_NAMES.map((name) => loggerOf(levels.view(name))), next: null };
    },
  });

  server.get('/api/v1/loggers/:name', {
    config: { role: 'viewer', refuses: ['not_found'] },
    schema: {
      operationId: 'getLogger',
      summary: 'How much a logger writes.',
      tags: ['config'],
      params,
      response: { 200: loggerShape, ...errorResponses },
    },
    handler: (request) => loggerOf(levelsOf(operations).view(request.params.name)),
  });

  server.put('/api/v1/loggers/:name', {
    config: { role: 'operator', refuses: ['not_found'] },
    schema: {
      operationId: 'setLogger',
      summary: 'Sets how much a logger writes, for good or for so many seconds.',
      tags: ['config'],
      params,
      body: changeShape,
      response: { 200: loggerShape, ...errorResponses },
    },
    handler: (request) => {
      const { level, forSeconds } = request.body;
      const forMs = forSeconds === undefined ? undefined : forSeconds * 1_000;
      return loggerOf(levelsOf(operations).set(request.params.name, level ?? undefined, forMs));
    },
  });
}

function loggerOf({ name, level, source, untilMs }: LevelView): z.output<typeof loggerShape> {
  return { name, level, source, untilMs: untilMs ?? null };
}
