import { distance } from 'fastest-levenshtein';
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

/** The name with two neighbouring letters swapped, for each pair of them. */
function swapped(name: string): string[] {
  return Array.from(
    { length: name.length - 1 },
    (_none, at) => name.slice(0, at) + name.charAt(at + 1) + name.charAt(at) + name.slice(at + 2),
  );
}

/** What the name is likely to be a misspelling of; both in lower case. Two letters that are swapped are one wrong letter. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const possible = known.filter(({ length }) => name.length - length <= name.length * WRONG_LETTERS_SHARE_MAX);
  if (name === '' || possible.length === 0) return undefined;
  const swaps = swapped(name);
  let near = { word: '', wrong: Number.POSITIVE_INFINITY };
  for (const word of possible) {
    const wrong = Math.min(distance(name, word), ...swaps.map((one) => 1 + distance(one, word)));
    if (wrong < near.wrong) near = { word, wrong };
  }
  return near.wrong <= Math.max(name.length, near.word.length) * WRONG_LETTERS_SHARE_MAX ? near.word : undefined;
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
