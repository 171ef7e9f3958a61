import { closest } from 'fastest-levenshtein';
import { z } from 'zod';

/** Parameters that older clients and caches add to every request; they never mean anything. */
const IGNORED = ['workspaceId', 'projectSlug', '_'];

/** Of longer names only the beginning is looked at. */
const NAME_CHARS_MAX = 100;

function withoutIgnored(query: unknown): unknown {
  if (typeof query !== 'object' || query === null) return query;
  return Object.fromEntries(Object.entries(query).filter(([name]) => !IGNORED.includes(name)));
}

/**
 * A query string that knows its parameters: one that is misspelt is refused instead of ignored, because without its filter the
 * answer would hold more than the caller asked for. The refusal names the nearest parameter that is known.
 */
export function closedQuery<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const byLowerName = new Map(Object.keys(shape).map((name) => [name.toLowerCase(), name]));
  const lowerNames = [...byLowerName.keys()];
  const refusal = (name: string) => {
    const nearest = byLowerName.get(closest(name.slice(0, NAME_CHARS_MAX).toLowerCase(), lowerNames));
    return `is not a parameter of this request; did you mean "${nearest}"?`;
  };
  const error: z.core.$ZodErrorMap = (issue) =>
    issue.code === 'unrecognized_keys' ? refusal(issue.keys[0] ?? '') : undefined;
  return z.preprocess(withoutIgnored, z.strictObject(shape, { error }));
}
