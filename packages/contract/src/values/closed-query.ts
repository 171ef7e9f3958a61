import { distance } from 'fastest-levenshtein';
import { z } from 'zod';

/** Parameters that old clients and cache busters add to every request. They are accepted without effect. */
const IGNORED_PARAMETERS = ['workspaceId', 'projectSlug', '_'];

/** Names are truncated to this length before they are compared, which takes quadratic time. */
const NAME_CHARS_MAX = 100;

function withoutIgnored(query: unknown): unknown {
  if (typeof query !== 'object' || query === null) return query;
  return Object.fromEntries(Object.entries(query).filter(([name]) => !IGNORED_PARAMETERS.includes(name)));
}

/** Largest share of wrong letters at which a name still counts as misspelt, and not as another word. */
const TYPO_SHARE_MAX = 0.4;

/** All texts that result from the name when two adjacent letters are swapped. */
function adjacentSwaps(name: string): string[] {
  return Array.from(
    { length: name.length - 1 },
    (_none, at) => name.slice(0, at) + name.charAt(at + 1) + name.charAt(at) + name.slice(at + 2),
  );
}

/** The known name of which `name` is probably a misspelling. All are in lower case. Two swapped letters count as one mistake. */
function closestName(name: string, known: readonly string[]): string | undefined {
  const candidates = known.filter(({ length }) => name.length - length <= name.length * TYPO_SHARE_MAX);
  if (name === '' || candidates.length === 0) return undefined;
  const swaps = adjacentSwaps(name);
  let near = { word: '', wrong: Number.POSITIVE_INFINITY };
  for (const word of candidates) {
    const wrong = Math.min(distance(name, word), ...swaps.map((one) => 1 + distance(one, word)));
    if (wrong < near.wrong) near = { word, wrong };
  }
  return near.wrong <= Math.max(name.length, near.word.length) * TYPO_SHARE_MAX ? near.word : undefined;
}

/**
 * The schema of a query string. It rejects unknown parameters, because if a misspelt filter were ignored, the response would contain more
 * than the caller requested. The error message suggests the closest known parameter.
 */
export function closedQuery<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const byLowerName = new Map(Object.keys(shape).map((name) => [name.toLowerCase(), name]));
  const lowerNames = [...byLowerName.keys()];
  const unknownParameterMessage = (name: string) => {
    const near = closestName(name.slice(0, NAME_CHARS_MAX).toLowerCase(), lowerNames);
    const meant = near === undefined ? '' : `; did you mean "${byLowerName.get(near)}"?`;
    return `is not a parameter of this request${meant}`;
  };
  const error: z.core.$ZodErrorMap = (issue) =>
    issue.code === 'unrecognized_keys' ? unknownParameterMessage(issue.keys[0] ?? '') : undefined;
  return z.preprocess(withoutIgnored, z.strictObject(shape, { error }));
}

/** The query of a request that has no parameters. */
export const noQuerySchema = closedQuery({});
