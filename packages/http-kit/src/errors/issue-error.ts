import { ApiError, fieldError, type RuleCode } from '@waymark/contract';
import { z } from 'zod';

type Issue = z.core.$ZodIssue;

/** Whether the value has the JSON type of one of those allowed: then it is a wrong value, not a wrong type. */
export function hasTypeOf(input: unknown, allowed: readonly unknown[]): boolean {
  return allowed.some((value) => typeof value === typeof input && (value === null) === (input === null));
}

function discriminatorValue(input: unknown, name: string): unknown {
  return typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[name] : undefined;
}

/** Whether the fault is a missing field or a wrong type, which answers 400; anything else answers 422. */
function isTypeFault(issue: Issue): boolean {
  switch (issue.code) {
    case 'invalid_type':
      // JSON has one type of numbers: a fraction is a wrong value of it.
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
 * The issue to report: of a union, the fault inside the one branch whose type the caller did meet; of a name of a map, what is
 * wrong with it.
 */
function speakingIssue(issue: Issue): Issue {
  if (issue.code === 'invalid_key') {
    const [fault] = issue.issues;
    return fault === undefined ? issue : { ...fault, path: issue.path, message: `its name ${fault.message}` };
  }
  if (issue.code !== 'invalid_union') return issue;
  const met = issue.errors.filter((branch) => branch.every((fault) => fault.path.length > 0 || !isTypeFault(fault)));
  const [fault] = met[0] ?? [];
  if (met.length !== 1 || fault === undefined) return issue;
  return speakingIssue({ ...fault, path: [...issue.path, ...fault.path] });
}

/** Of longer names, which callers may choose in free JSON, messages show the beginning. */
const NAME_CHARS_MAX = 100;

/** Stands for the place of a fault in the input as a whole: of queries and paths, only single values can be at fault. */
const WHOLE = 'body';

/** Where the fault is: of a member that should not be there, its own place; `""` is the member with an empty name. */
function placeOf(issue: Issue): string {
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path;
  if (path.length === 0) return WHOLE;
  return (
    z.core.toDotPath(path.map((name) => (typeof name === 'string' ? name.slice(0, NAME_CHARS_MAX) : name))) || '""'
  );
}

/** Which kind of rule was broken: for what a caller sends, zod's kinds are too many. */
function ruleOf(issue: Issue): RuleCode {
  const isTagged = issue.code === 'invalid_union' && issue.discriminator !== undefined;
  const given = isTagged ? discriminatorValue(issue.input, issue.discriminator ?? '') : issue.input;
  switch (issue.code) {
    case 'invalid_type':
    case 'invalid_value':
    case 'invalid_union':
      if (given === undefined) return 'required';
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

/** The error a caller gets for input that a schema refuses: its first issue only. The input is never repeated. */
export function issueError(error: z.core.$ZodError): ApiError {
  const [first] = error.issues;
  if (first === undefined) return new ApiError('unprocessable_entity', 'The request is invalid.');
  const issue = speakingIssue(first);
  const code = isTypeFault(issue) ? 'bad_request' : 'unprocessable_entity';
  return fieldError(ruleOf(issue), placeOf(issue), issue.message, code);
}
