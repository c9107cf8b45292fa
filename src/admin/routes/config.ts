// GET /api/v1/config, POST /api/v1/config:check, POST /api/v1/config:reload: what is in effect and who said so, what would
// be wrong with another file, and reading the file again.
import * as z from 'zod';
import type { ReloadResult, ValueInEffect } from '../../config/configuration.ts';
import { type ConfigIssue, formatSource } from '../../config/sources.ts';
import { AdminError } from '../errors.ts';
import type { HttpServer } from '../http-server.ts';
import { configurationOf, type Operations } from '../operations.ts';
import { count, errorResponses } from '../shapes.ts';

const TEXT_BYTES_MAX = 4 * 1024 * 1024;
const TOML = 'application/toml';

const valueShape = z
  .union([z.string(), z.number(), z.boolean(), z.array(z.string())])
  .meta({ description: 'As it is written in the file.' });

const keyShape = z
  .strictObject({
    key: z.string().meta({ description: 'Elements of arrays by their name: `listener.kafka.bind`.' }),
    value: valueShape.nullable().meta({ description: 'null: a secret.' }),
    source: z.string().meta({ description: '`file:line`, the name of a variable or flag, or `default`.' }),
    restart: z.boolean().meta({ description: 'Another value takes a restart.' }),
    pending: valueShape
      .nullable()
      .optional()
      .meta({ description: 'What the file says by now, after a restart.' }),
  })
  .meta({
    id: 'ConfigurationValue',
    description: 'A key of the configuration, and who said so.',
    examples: [
      {
        key: 'listener.kafka.bind',
        value: '127.0.0.1:9092',
        source: 'polylog.toml:12',
        restart: true,
      },
    ],
  });

const configShape = z
  .strictObject({ file: z.string(), values: z.array(keyShape) })
  .meta({ id: 'Configuration', description: 'What is in effect.' });

const problemShape = z
  .strictObject({
    source: z.string(),
    line: count.nullable(),
    key: z.string().meta({ description: 'Empty for the file as a whole.' }),
    message: z.string(),
    hint: z.string().optional(),
  })
  .meta({ id: 'ConfigurationProblem', description: 'Something that is wrong with the file.' });

const keys = z.array(z.string());

const outcomeShape = z
  .strictObject({
    ok: z.boolean().meta({ description: 'false: nothing changes but what is `applied` all the same.' }),
    problems: z.array(problemShape),
    applied: keys.meta({ description: 'Keys that take effect at once.' }),
    needsRestart: keys.meta({ description: 'Keys that stay as they are until a restart.' }),
    unchanged: keys,
  })
  .meta({ id: 'ReloadOutcome', description: 'What changes, or why nothing does.' });

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is the text of a configuration file. */
    takesToml?: boolean;
  }
}

export function configRoutes(server: HttpServer, operations: Operations): void {
  server.addContentTypeParser(TOML, { parseAs: 'string' }, (request, body, done) => {
    if (request.routeOptions.config.takesToml === true) done(null, body);
    else done(new AdminError('unsupported_media_type', 'the body must be JSON'));
  });

  server.get('/api/v1/config', {
    config: { role: 'viewer', refuses: ['not_found'] },
    schema: {
      operationId: 'getConfig',
      summary: 'What is in effect, each value with where it comes from. Secrets are not shown.',
      tags: ['config'],
      response: { 200: configShape, ...errorResponses },
    },
    handler: () => {
      const configuration = configurationOf(operations);
      return { file: configuration.file, values: configuration.values().map(keyOf) };
    },
  });

  server.post('/api/v1/config::check', {
    config: { role: 'operator', takesToml: true, refuses: ['not_found'] },
    bodyLimit: TEXT_BYTES_MAX,
    schema: {
      operationId: 'checkConfig',
      summary: 'What would be wrong with this text as the file, or what a reload of it would change.',
      description:
        'Environment and flags count as for the hub; variables that its file does not name are not set.',
      tags: ['config'],
      consumes: [TOML],
      body: z.string(),
      response: { 200: outcomeShape, ...errorResponses },
    },
    handler: (request) => outcomeOf(configurationOf(operations).check(request.body)),
  });

  server.post('/api/v1/config::reload', {
    config: { role: 'operator', refuses: ['not_found', 'conflict'] },
    schema: {
      operationId: 'reloadConfig',
      summary:
        'Reads the file again. Answered when what can change has changed; with a problem nothing has, but what is `applied`: the disk may fail half way.',
      tags: ['config'],
      response: { 200: outcomeShape, ...errorResponses },
    },
    handler: async () => {
      const configuration = configurationOf(operations);
      if (configuration.isFile) return outcomeOf(await configuration.reload());
      throw new AdminError(
        'conflict',
        'the configuration is the options of a program: there is no file to read',
      );
    },
  });
}

function keyOf({ key, value, source, restart, ...rest }: ValueInEffect): z.output<typeof keyShape> {
  const pending = 'pending' in rest ? { pending: shown(rest.pending) } : {};
  return { key, value: shown(value), source: formatSource(source), restart, ...pending };
}

/** Values of the file are texts, numbers, booleans and lists of texts; a secret has none. */
function shown(value: unknown): z.output<typeof valueShape> | null {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return Array.isArray(value) ? value.map(String) : null;
}

function outcomeOf(result: ReloadResult): z.output<typeof outcomeShape> {
  if (result.issues !== undefined) {
    const applied = [...result.applied];
    return { ok: false, problems: result.issues.map(problemOf), applied, needsRestart: [], unchanged: [] };
  }
  const { applied, needsRestart, unchanged } = result;
  return {
    ok: true,
    problems: [],
    applied: [...applied],
    needsRestart: [...needsRestart],
    unchanged: [...unchanged],
  };
}

function problemOf({ source, key, message, hint }: ConfigIssue): z.output<typeof problemShape> {
  const line = source.kind === 'file' ? (source.line ?? null) : null;
  return { source: formatSource(source), line, key, message, ...(hint === undefined ? {} : { hint }) };
}
