/**
 * Whether a key has expired, or the time for which the files of a job are kept is over.
 *
 * @param nowMs epoch milliseconds
 */
export function isExpired({ expiresAt }: { readonly expiresAt: string | null }, nowMs: number): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= nowMs;
}
