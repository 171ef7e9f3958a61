/** Replaces a value in a report that `JSON.stringify` cannot write, because it is nested too deeply. */
const TOO_DEEP = '(nested too deeply)';

/** A value as JSON; undefined when it is nested too deeply for `JSON.stringify`, as values of other systems may be. */
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
