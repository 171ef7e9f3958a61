import { ApiError } from '@waymark/contract';
import { z } from 'zod';

type Issue = z.core.$ZodIssue;

/** Whether the value has the JSON type of one of those allowed: then it is a wrong value, not a wrong type. */
function hasTypeOf(input: unknown, allowed: readonly unknown[]): boolean {
  return allowed.some((value) => typeof value === typeof input && (value === null) === (input === null));
}

function discriminatorValue(input: unknown, name: string): unknown {
  return typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[name] : undefined;
}

/** Whether the fault is a missing field or a wrong type, which answers 400; anything else answers 422 (spec 1.4). */
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

/** The issue to speak of: of a union, the fault inside the one branch whose type the caller did meet. */
function speakingIssue(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const met = issue.errors.filter((branch) => branch.every((fault) => fault.path.length > 0 || !isTypeFault(fault)));
  const [fault] = met[0] ?? [];
  if (met.length !== 1 || fault === undefined) return issue;
  return speakingIssue({ ...fault, path: [...issue.path, ...fault.path] });
}

/** `<issue code>: <path>: <text>`, the path in object notation (`data.tagIds[0]`); none when the whole input is meant. */
function issueMessage(issue: Issue): string {
  const path = z.core.toDotPath(issue.path);
  return [issue.code, path, issue.message].filter((part) => part !== '').join(': ');
}

/** The error a caller gets for input that a schema refuses: its first issue only. The input is never repeated. */
export function issueError(error: z.core.$ZodError): ApiError {
  const [first] = error.issues;
  if (first === undefined) return new ApiError('unprocessable_entity', 'The request is invalid.');
  const issue = speakingIssue(first);
  return new ApiError(isTypeFault(issue) ? 'bad_request' : 'unprocessable_entity', issueMessage(issue));
}
