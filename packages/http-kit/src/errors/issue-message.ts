import type { z } from 'zod';
import { hasTypeOf, isInfinite } from './issue-error.js';

type RawIssue = z.core.$ZodRawIssue;

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};
/** Names of formats in messages. */
const FORMATS: Readonly<Record<string, string>> = { email: 'an email address', url: 'a URL' };
/** The units of lengths. Bounds of other types, such as numbers, have none. */
const SIZES: Readonly<Record<string, string>> = { string: 'character', array: 'item' };

function sizeMessage(origin: string, bound: string, limit: number | bigint): string {
  const unit = SIZES[origin];
  return unit === undefined
    ? `must be ${bound} ${limit}`
    : `must have ${bound} ${limit} ${unit}${Number(limit) === 1 ? '' : 's'}`;
}

function oneOf(values: readonly unknown[]): string {
  return `must be ${values.length > 1 ? 'one of ' : ''}${values.map((value) => JSON.stringify(value)).join(', ')}`;
}

/** Lists the types that a union accepts. */
function unionMessage(issue: RawIssue & { readonly code: 'invalid_union' }): string {
  if (issue.discriminator !== undefined) return oneOf((issue.options as readonly unknown[] | undefined) ?? []);
  const types = issue.errors.flatMap((branch) =>
    branch.flatMap((fault) => (fault.code === 'invalid_type' && fault.path.length === 0 ? [fault.expected] : [])),
  );
  const words = [...new Set(types.map((type) => TYPES[type] ?? type))];
  return words.length === 0 ? 'has none of the forms allowed' : `must be ${words.join(' or ')}`;
}

/** The rule that a value breaks, as a phrase that follows the field's name. A schema's own message takes precedence. */
export function issueMessage(issue: RawIssue): string {
  const notNull = issue.input === null ? ', not null' : '';
  switch (issue.code) {
    case 'invalid_type':
      if (issue.expected === 'number' && isInfinite(issue.input))
        return `is too ${issue.input > 0 ? 'great' : 'small'}`;
      return issue.input === undefined ? 'is required' : `must be ${TYPES[issue.expected] ?? issue.expected}${notNull}`;
    case 'invalid_value':
      if (issue.input === undefined) return 'is required';
      if (hasTypeOf(issue.input, issue.values)) return oneOf(issue.values);
      return `must be ${TYPES[typeof issue.values[0]] ?? 'of another type'}${notNull}`;
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : `${unionMessage(issue)}${notNull}`;
    case 'too_big':
      return sizeMessage(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    case 'too_small':
      return sizeMessage(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'invalid_format':
      return `must be ${FORMATS[issue.format] ?? 'of another form'}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return 'is not known';
    default:
      return 'is not allowed';
  }
}
