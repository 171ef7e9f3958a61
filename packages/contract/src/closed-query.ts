import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';

/** Parameters that older clients and caches add to every request; they never mean anything. */
const IGNORED = ['workspaceId', 'projectSlug', '_'];

/** Of longer names only the beginning is looked at. */
const NAME_CHARS_MAX = 100;

function withoutIgnored(query: unknown): unknown {
  if (typeof query !== 'object' || query === null) return query;
  return Object.fromEntries(Object.entries(query).filter(([name]) => !IGNORED.includes(name)));
}

/** Of its letters, how many a misspelt name may have wrong: what differs more is another word. */
const WRONG_LETTERS_SHARE_MAX = 0.4;

/** What the name is likely to be a misspelling of; both in lower case. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const near = known.length === 0 ? undefined : closest(name, known);
  if (near === undefined) return undefined;
  const lettersMax = Math.max(name.length, near.length) * WRONG_LETTERS_SHARE_MAX;
  return distance(name, near) <= lettersMax ? near : undefined;
}

/**
 * A query string with a closed set of parameters: one that is misspelt is refused instead of ignored, because without its filter the
 * answer would hold more than the caller asked for. The refusal names the parameter that was meant, if one is near.
 */
export function closedQuery<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const byLowerName = new Map(Object.keys(shape).map((name) => [name.toLowerCase(), name]));
  const lowerNames = [...byLowerName.keys()];
  const refusal = (name: string) => {
    const near = nearest(name.slice(0, NAME_CHARS_MAX).toLowerCase(), lowerNames);
    const meant = near === undefined ? '' : `; did you mean "${byLowerName.get(near)}"?`;
    return `is not a parameter of this request${meant}`;
  };
  const error: z.core.$ZodErrorMap = (issue) =>
    issue.code === 'unrecognized_keys' ? refusal(issue.keys[0] ?? '') : undefined;
  return z.preprocess(withoutIgnored, z.strictObject(shape, { error }));
}

/** The query of a request that has no parameters. */
export const noQuerySchema = closedQuery({});
