/** What a report shows instead of a value that is nested more deeply than the engine can write. */
const TOO_DEEP = '(nested too deeply)';

/** A value as JSON; undefined when it is nested too deeply, which texts of other systems may be. */
export function asJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (err) {
    if (err instanceof RangeError) return undefined;
    throw err;
  }
}

/** A value for a report: a text as it is, anything else as JSON. */
export function reportText(value: unknown): string {
  return typeof value === 'string' ? value : (asJson(value) ?? TOO_DEEP);
}
