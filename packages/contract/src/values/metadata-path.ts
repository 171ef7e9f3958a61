/**
 * How a place inside an event's metadata is written where metadata is searched: the keys on the way, joined by `.`. A `\`, `.`
 * or `=` inside a key is escaped with a backslash, so that no two places have the same text and none contains a bare `=`.
 */
export function metadataPath(keys: readonly string[]): string {
  return keys.map((key) => metadataText(key).replace(/[\\.=]/g, (character) => `\\${character}`)).join('.');
}

/** A key or value as it is stored and searched: NUL and half of a surrogate pair become U+FFFD. */
export function metadataText(text: string): string {
  return text.replace(/[\p{Surrogate}\0]/gu, '\ufffd');
}
