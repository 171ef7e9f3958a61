/** Common codes that are not in ISO 3166-1, with those that are. */
export const ISO_CODE_OF: ReadonlyMap<string, string> = new Map([
  ['UK', 'GB'],
  ['EL', 'GR'],
]);

/** The code of ISO 3166-1 for a code in upper case. Codes without another one are returned unchanged. */
export function isoCountry(code: string): string {
  return ISO_CODE_OF.get(code) ?? code;
}
