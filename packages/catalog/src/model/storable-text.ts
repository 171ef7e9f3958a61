/** Replaces lone surrogates by U+FFFD: with one of them, ClickHouse's JSON parser would refuse all rows of the insert. */
export function storableText(text: string): string {
  return /\p{Surrogate}/u.test(text) ? text.replace(/\p{Surrogate}/gu, '\ufffd') : text;
}
