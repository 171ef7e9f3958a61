import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const USER = 'default';
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/i;

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Creates the check whether a request has the password, which ClickHouse clients send by HTTP Basic authentication. */
export function createAuthorization(password: string): (request: IncomingMessage) => boolean {
  const expected = digest(`Basic ${Buffer.from(`${USER}:${password}`).toString('base64')}`);
  return ({ headers }) => timingSafeEqual(digest(headers.authorization ?? ''), expected);
}

/**
 * Whether the request comes from a browser: web pages must not be able to try passwords, either with a form (browsers then send
 * `Origin` or `Sec-Fetch-Site`) or through a host name that resolves to loopback.
 */
export function isFromBrowser({ headers }: IncomingMessage): boolean {
  const hasBrowserHeader = headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
  return hasBrowserHeader || !LOOPBACK_HOST.test(headers.host ?? '');
}
