import { ApiError } from '@waymark/contract';
import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { issueError } from './issue-error.js';
import { issueMessage } from './issue-message.js';

/** Validates a value that is not part of a route's schema. @throws ApiError 400 or 422, as for an invalid request of a route */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  let result: z.ZodSafeParseResult<z.output<Schema>>;
  try {
    // `reportInput`: only the input distinguishes an absent enum value (400) from an unknown one (422).
    result = schema.safeParse(value, { reportInput: true, error: issueMessage });
  } catch (err) {
    // A recursive schema (free-form JSON) overflows the stack on deeply nested brackets.
    if (err instanceof RangeError)
      throw new ApiError('bad_request', 'The request is nested too deeply.', { cause: err });
    throw err;
  }
  if (!result.success) throw issueError(result.error);
  return result.data;
}

/** Fastify validator compiler for zod schemas; validation errors are already an `ApiError`. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (value) => {
    try {
      // Fastify passes null for a missing body.
      return { value: parseInput(schema, value ?? undefined) };
    } catch (err) {
      if (err instanceof ApiError) return { error: err };
      throw err;
    }
  };
