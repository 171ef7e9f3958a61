/** An escape of a surrogate in JSON, which may be half of a pair. Without escapes there are no halves: UTF-8 cannot contain them. */
const SURROGATE = /\\ud[89a-f]/i;

/** A method of strings in Node 20, which TypeScript's types have only with the library of ES2024. */
interface WellFormed {
  toWellFormed(): string;
}

const wellFormed = (text: string) => (text as unknown as WellFormed).toWellFormed();

/** The value with all its texts and keys well-formed. */
function replaced(value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(replaced);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [wellFormed(name), replaced(inner)]));
}

/**
 * Replaces halves of surrogate pairs in texts and keys with U+FFFD. JSON allows halves, but jq and DuckDB refuse JSON that has them.
 *
 * @param text the JSON of `value`, of bounded depth
 */
export function wellFormedBody(text: string, value: unknown): unknown {
  return SURROGATE.test(text) ? replaced(value) : value;
}
