import { ApiError, type ApiErrorOptions, type ErrorCode } from './errors.js';

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
  return new ApiError(errorCode, `${code}: ${field}: ${rule}`, options);
}
