import { createHmac } from 'node:crypto';

/** The header with the result of {@link signatureOf}. */
export const SIGNATURE_HEADER = 'Dub-Signature';

/** The HMAC-SHA256 of the exact body with the webhook's secret as key, in lower-case hexadecimal. */
export function signatureOf(body: string, secret: string): string {
  return createHmac('sha256', secret).update(body, 'utf8').digest('hex');
}
