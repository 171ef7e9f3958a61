/** Replaces lone surrogates by U+FFFD: because of one, ClickHouse's JSON reader would refuse every row of the same insert. */
export function storableText(text: string): string {
  return /\p{Surrogate}/u.test(text) ? text.replace(/\p{Surrogate}/gu, '\ufffd') : text;
}
