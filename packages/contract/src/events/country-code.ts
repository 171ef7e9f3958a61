/** The codes of ISO 3166-1 by other common codes of the same countries. */
export const ISO_CODE_OF: ReadonlyMap<string, string> = new Map([
  ['UK', 'GB'],
  ['EL', 'GR'],
]);

/** Replaces a code of {@link ISO_CODE_OF} by the one of ISO 3166-1. Other codes are returned unchanged. @param code in upper case */
export function isoCountry(code: string): string {
  return ISO_CODE_OF.get(code) ?? code;
}
