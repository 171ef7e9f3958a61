import { ApiError } from '@waymark/contract';
import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { issueError } from './issue-error.js';
import { issueWords } from './issue-words.js';

/** Checks a value that did not pass through a route's schema the way a route would. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  let result: z.ZodSafeParseResult<z.output<Schema>>;
  try {
    // The issues carry their input: only it distinguishes an absent enum value (400) from an unknown one (422).
    result = schema.safeParse(value, { reportInput: true, error: issueWords });
  } catch (err) {
    // A recursive schema (free JSON) runs out of stack on a body of nothing but brackets.
    if (err instanceof RangeError)
      throw new ApiError('bad_request', 'The request is nested too deeply.', { cause: err });
    throw err;
  }
  if (!result.success) throw issueError(result.error);
  return result.data;
}

/** Lets routes take zod schemas for their input; a refusal is an `ApiError` already. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (value) => {
    try {
      // The framework's word for a body that was not sent is null.
      return { value: parseInput(schema, value ?? undefined) };
    } catch (err) {
      if (err instanceof ApiError) return { error: err };
      throw err;
    }
  };
