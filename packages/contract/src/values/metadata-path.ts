/**
 * The path of a value inside the metadata of an event, as it is stored for searches: the keys that lead to it, joined by `.`. A `\`, `.` or
 * `=` inside a key is escaped with a backslash, so that paths are unique and contain no unescaped `=`.
 */
export function metadataPath(keys: readonly string[]): string {
  return keys.map((key) => metadataText(key).replace(/[\\.=]/g, (character) => `\\${character}`)).join('.');
}

/** A key or value as it is stored and searched: NUL and unpaired surrogates become U+FFFD. */
export function metadataText(text: string): string {
  return text.replace(/[\p{Surrogate}\0]/gu, '\ufffd');
}
