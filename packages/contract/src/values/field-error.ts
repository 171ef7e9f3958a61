import { ApiError, type ApiErrorOptions, type ErrorCode } from '../errors.js';

/** The rule that a refused field broke, as the message of an error begins; `docs/reference/errors.md` explains each. */
export const RULE_CODES = [
  'required',
  'invalid_type',
  'invalid_value',
  'invalid_format',
  'invalid_combination',
  'too_big',
  'too_small',
  'unrecognized_keys',
] as const;
export type RuleCode = (typeof RULE_CODES)[number];

/** What a rule's breach answers unless said otherwise. */
function errorCodeOf(code: RuleCode): ErrorCode {
  return code === 'required' || code === 'invalid_type' ? 'bad_request' : 'unprocessable_entity';
}

/** A refused field or parameter: `<code>: <field>: <rule in words>`. */
class FieldError extends ApiError {
  constructor(
    readonly rule: RuleCode,
    readonly field: string,
    readonly words: string,
    errorCode: ErrorCode,
    options: ApiErrorOptions,
  ) {
    super(errorCode, `${rule}: ${field}: ${words}`, options);
  }
}

/**
 * The error for a field or parameter that is refused: `<code>: <field>: <rule in words>`.
 *
 * @param field in object notation, such as `data.tagIds[0]`
 * @param rule never repeats the value itself
 */
export function fieldError(
  code: RuleCode,
  field: string,
  rule: string,
  errorCode: ErrorCode = errorCodeOf(code),
  options: ApiErrorOptions = {},
): ApiError {
  return new FieldError(code, field, rule, errorCode, options);
}

/**
 * Runs what checks a part of a body, so that its refusals name fields as the caller wrote them.
 *
 * @param placeOf from the name of a field in the part to its name in the body
 * @throws what the work throws
 */
export async function inFieldsOf<T>(placeOf: (field: string) => string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (err) {
    if (!(err instanceof FieldError)) throw err;
    const { rule, field, words, code, cause, context } = err;
    throw fieldError(rule, placeOf(field), words, code, { cause, ...(context && { context }) });
  }
}
