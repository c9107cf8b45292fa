// JSON shapes that several routes share. The schemas check every answer before it is sent and make the OpenAPI
// document, so neither can differ from the other.
import * as z from 'zod';
import { ERROR_STATUS, type ErrorCode } from './errors.ts';

/** Offsets and byte counts: JavaScript's safe integers, up to 2^53 − 1. */
export const count = z.int().min(0);

export const milliseconds = z.int().meta({ description: 'Milliseconds since the epoch.' });

export const batchShape = z
  .strictObject({
    baseOffset: count,
    lastOffset: count,
    records: count,
    bytes: count,
    leaderEpoch: z.int(),
  })
  .meta({ id: 'Batch', description: 'The batch that a record lies in.' });

// Object.keys loses the type of the keys of a constant.
const codes = Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]];

const errorShape = z
  .strictObject({
    error: z.strictObject({
      code: z.enum(codes),
      message: z.string(),
      field: z.string().optional().meta({ description: 'The parameter that is wrong.' }),
      hint: z.string().optional().meta({ description: 'What to do about it.' }),
    }),
  })
  .meta({
    id: 'Error',
    description: 'Why a request was refused. `code` is for programs, `message` for people.',
    examples: [{ error: { code: 'not_found', message: 'there is no topic telemetry', field: 'topic' } }],
  });

/** A topic in a path: longer names are none, and are told so. */
export const topicParam = z.string().max(1024);

export const partitionParam = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a number')
  .transform(Number)
  .meta({ description: 'Number of the partition.' });

export const partitionsQuery = z
  .string()
  .max(65_536)
  .regex(/^\d{1,9}(?:,\d{1,9})*$/, 'must be a number, or numbers with commas')
  .optional()
  .meta({ description: 'Only these, with commas.' });

/** What a route may answer that did a part of what was asked. */
export function partialErrors<Shape extends z.ZodRawShape>(shape: Shape, id: string, description: string) {
  const body = z
    .strictObject({ ...errorShape.shape, ...z.strictObject(shape).partial().shape })
    .meta({ id, description });
  return { '4xx': body, '5xx': body };
}

/** What any route may answer besides its own. */
export const errorResponses = { '4xx': errorShape, '5xx': errorShape };
