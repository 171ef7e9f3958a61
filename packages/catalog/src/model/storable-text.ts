/**
 * Text as ClickHouse will accept it: lone surrogates, which its JSON reader refuses (and with them every row of the same
 * insert), become U+FFFD.
 */
export function storableText(text: string): string {
  return /\p{Surrogate}/u.test(text) ? text.replace(/\p{Surrogate}/gu, '\ufffd') : text;
}
