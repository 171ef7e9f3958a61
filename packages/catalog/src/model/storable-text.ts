/** Replaces lone surrogates by U+FFFD, because ClickHouse's JSON parser refuses all rows of an insert if one contains a lone surrogate. */
export function storableText(text: string): string {
  return /\p{Surrogate}/u.test(text) ? text.replace(/\p{Surrogate}/gu, '\ufffd') : text;
}
