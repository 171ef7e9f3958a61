import { ApiError, type ApiErrorOptions, type ErrorCode } from '../http/errors.js';

/** The rules that an invalid field can break. Error messages begin with one of them; `docs/reference/errors.md` explains each. */
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

/** The default error code for a broken rule. */
function errorCodeOf(code: RuleCode): ErrorCode {
  return code === 'required' || code === 'invalid_type' ? 'bad_request' : 'unprocessable_entity';
}

/** An invalid field or parameter: `<code>: <field>: <rule in words>`. */
class FieldError extends ApiError {
  constructor(
    readonly rule: RuleCode,
    readonly field: string,
    readonly ruleText: string,
    errorCode: ErrorCode,
    options: ApiErrorOptions,
  ) {
    super(errorCode, `${rule}: ${field}: ${ruleText}`, options);
  }
}

/**
 * Creates the error for an invalid field or parameter, with the message `<code>: <field>: <rule in words>`.
 *
 * @param field path of the field, such as `data.tagIds[0]`
 * @param rule the rule in words; must not contain the value
 * @param errorCode by default `bad_request` for `required` and `invalid_type`, and `unprocessable_entity` for all others
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
 * Runs a check of one part of a request body, and changes the field names in its errors to those of the whole body.
 *
 * @param toBodyField maps the path of a field in the part to its path in the body
 * @throws the error of `work`, with the changed name if it is an error of {@link fieldError}
 */
export async function mapErrorFields<T>(toBodyField: (field: string) => string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (err) {
    if (!(err instanceof FieldError)) throw err;
    const { rule, field, ruleText, code, cause, context } = err;
    throw fieldError(rule, toBodyField(field), ruleText, code, { cause, ...(context && { context }) });
  }
}
