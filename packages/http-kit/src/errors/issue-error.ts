import { ApiError, fieldError, type RuleCode } from '@waymark/contract';
import { z } from 'zod';

type Issue = z.core.$ZodIssue;

/** Whether the input has the JSON type of one of the allowed values. If so, its value is wrong rather than its type. */
export function hasTypeOf(input: unknown, allowed: readonly unknown[]): boolean {
  return allowed.some((value) => typeof value === typeof input && (value === null) === (input === null));
}

function discriminatorValue(input: unknown, name: string): unknown {
  return typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[name] : undefined;
}

/** Whether the input is a number beyond the doubles, such as `1e999`, which JSON.parse turns into infinity. */
export function isInfinite(input: unknown): input is number {
  return input === Number.POSITIVE_INFINITY || input === Number.NEGATIVE_INFINITY;
}

/** Whether the issue is a missing field or a wrong type, for which the status is 400; for anything else it is 422. */
function isTypeFault(issue: Issue): boolean {
  switch (issue.code) {
    case 'invalid_type':
      // JSON has a single number type, so a fraction or a number that is too great is a wrong value, not a wrong type.
      if (issue.expected === 'number') return !isInfinite(issue.input);
      return !(issue.expected === 'int' && typeof issue.input === 'number');
    case 'invalid_value':
      return !hasTypeOf(issue.input, issue.values);
    case 'invalid_union': {
      if (issue.discriminator !== undefined) {
        return typeof discriminatorValue(issue.input, issue.discriminator) !== 'string';
      }
      return issue.errors.length > 0 && issue.errors.every((branch) => branch.some(isTypeFault));
    }
    default:
      return false;
  }
}

/**
 * The issue to report. For a union it is the issue inside the only branch whose type the input matches; for an invalid key of a map,
 * the rule that the key breaks.
 */
function mostSpecificIssue(issue: Issue): Issue {
  if (issue.code === 'invalid_key') {
    const [fault] = issue.issues;
    return fault === undefined ? issue : { ...fault, path: issue.path, message: `its name ${fault.message}` };
  }
  if (issue.code !== 'invalid_union') return issue;
  const met = issue.errors.filter((branch) => branch.every((fault) => fault.path.length > 0 || !isTypeFault(fault)));
  const [fault] = met[0] ?? [];
  if (met.length !== 1 || fault === undefined) return issue;
  return mostSpecificIssue({ ...fault, path: [...issue.path, ...fault.path] });
}

/** Callers choose the names in free-form JSON. In messages, longer ones are cut. */
const NAME_CHARS_MAX = 100;

/** The field name in messages about the whole body. (Issues in queries and paths always have a parameter name.) */
const WHOLE = 'body';

/** The path of the invalid field, or of the first unrecognized one; `""` is a field with an empty name. */
function fieldPath(issue: Issue): string {
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path;
  if (path.length === 0) return WHOLE;
  return (
    z.core.toDotPath(path.map((name) => (typeof name === 'string' ? name.slice(0, NAME_CHARS_MAX) : name))) || '""'
  );
}

/** The public rule code of an issue; there are fewer of them than zod has issue codes. */
function ruleCodeOf(issue: Issue): RuleCode {
  const isTagged = issue.code === 'invalid_union' && issue.discriminator !== undefined;
  const value = isTagged ? discriminatorValue(issue.input, issue.discriminator ?? '') : issue.input;
  if (issue.code === 'invalid_type' && !isTypeFault(issue) && isInfinite(value))
    return value > 0 ? 'too_big' : 'too_small';
  switch (issue.code) {
    case 'invalid_type':
    case 'invalid_value':
    case 'invalid_union':
      if (value === undefined) return 'required';
      return issue.code === 'invalid_type' || isTypeFault(issue) ? 'invalid_type' : 'invalid_value';
    case 'too_big':
    case 'too_small':
    case 'invalid_format':
    case 'unrecognized_keys':
      return issue.code;
    case 'custom':
      return 'invalid_combination';
    default:
      return 'invalid_value';
  }
}

/** The public error for input that fails its schema: the first issue only, without the value. */
export function issueError(error: z.core.$ZodError): ApiError {
  const [first] = error.issues;
  if (first === undefined) return new ApiError('unprocessable_entity', 'The request is invalid.');
  const issue = mostSpecificIssue(first);
  const code = isTypeFault(issue) ? 'bad_request' : 'unprocessable_entity';
  return fieldError(ruleCodeOf(issue), fieldPath(issue), issue.message, code);
}
