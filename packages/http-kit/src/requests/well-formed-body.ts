/** The escape of a surrogate, half a pair or whole; UTF-8 itself has no halves. */
const SURROGATE = /\\ud[89a-f]/i;

/** In Node since version 20, in the types of TypeScript with the library of ES2024. */
interface WellFormed {
  toWellFormed(): string;
}

const wellFormed = (text: string) => (text as unknown as WellFormed).toWellFormed();

function replaced(value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(replaced);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [wellFormed(name), replaced(inner)]));
}

/**
 * Replaces halves of surrogate pairs with U+FFFD, in keys as well: JSON may have them, but jq and DuckDB refuse to read it.
 *
 * @param text the JSON of `value`, of bounded depth
 */
export function wellFormedBody(text: string, value: unknown): unknown {
  return SURROGATE.test(text) ? replaced(value) : value;
}
