// JSON shapes that several routes share. The schemas check every answer before it is sent and make the OpenAPI
// document, so neither can differ from the other.
import * as z from 'zod';
import { ERROR_STATUS, type ErrorCode } from './errors.ts';

/** Offsets and byte counts: JavaScript's safe integers, up to 2^53 − 1. */
export const count = z.int().min(0);

export const milliseconds = z.int().meta({ description: 'Milliseconds since the epoch.' });

// Object.keys loses the type of the keys of a constant.
const codes = Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]];

const errorShape = z.strictObject({
  error: z.strictObject({
    code: z.enum(codes),
    message: z.string(),
    field: z.string().optional().meta({ description: 'The parameter that is wrong.' }),
    hint: z.string().optional().meta({ description: 'What to do about it.' }),
  }),
});

/** What any route may answer besides its own. */
export const errorResponses = { '4xx': errorShape, '5xx': errorShape };
