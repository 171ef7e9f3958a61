import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const USER = 'default';
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/i;

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Tells requests with the password (HTTP's Basic, as clients of ClickHouse send it) from all others. */
export function createAuthorization(password: string): (request: IncomingMessage) => boolean {
  const expected = digest(`Basic ${Buffer.from(`${USER}:${password}`).toString('base64')}`);
  return ({ headers }) => timingSafeEqual(digest(headers.authorization ?? ''), expected);
}

/**
 * A page in a browser of this machine must not even try passwords: neither by a plain form (browsers add `Origin` or
 * `Sec-Fetch-Site`) nor under a name of its own that resolves to loopback.
 */
export function isFromBrowser({ headers }: IncomingMessage): boolean {
  const isAnnounced = headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
  return isAnnounced || !LOOPBACK_HOST.test(headers.host ?? '');
}
