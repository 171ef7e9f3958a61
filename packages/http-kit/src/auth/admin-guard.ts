import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@waymark/contract';
import type { RateLimiter } from '@waymark/rate-limit';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { LRUCache } from 'lru-cache';
import { clientNetwork } from '../requests/request-address.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on routes behind the admin key that are pages, to which other sites may link. */
    isPage?: boolean;
  }
}

export interface AdminGuardOptions {
  /** The keys that are accepted: during a rotation there are two. Without any, every request is rejected. */
  readonly adminKeys: readonly string[];
  readonly rateLimiter: Pick<RateLimiter, 'take'>;
}

const BUCKET = 'admin-key';
const WRONG_KEYS_MAX = 10;
const WRONG_KEYS_WINDOW_SECONDS = 60;
const BLOCKED_NETWORKS_MAX = 10_000;
/** More than any valid header has, so that anonymous callers cannot make the server hash a header of 100 kB. */
const HEADER_CHARS_MAX = 1024;
/** Makes browsers show a login prompt for the key. */
const CHALLENGE = 'Basic realm="Waymark operators", charset="UTF-8"';
/** For requests of scripts: while a page is open, the prompt would appear again and again when the key is replaced. */
const SCRIPT_CHALLENGE = 'Bearer realm="Waymark operators"';

/** The key in the header `Authorization`: `Bearer <key>`, or Basic credentials with the key as the password of any user. */
function readKey(header: string | undefined): string | undefined {
  if (header === undefined || header.length > HEADER_CHARS_MAX) return undefined;
  const [, scheme = '', value = ''] = /^(\w+) +(\S+)$/.exec(header.trim()) ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return value;
    case 'basic': {
      const pair = Buffer.from(value, 'base64').toString('utf8');
      const colon = pair.indexOf(':');
      return colon < 0 ? undefined : pair.slice(colon + 1);
    }
    default:
      return undefined;
  }
}

/** Why a request is rejected. @param key what {@link readKey} found in the header */
function rejection(header: string | undefined, key: string | undefined): string {
  if (header === undefined) return 'The admin key is missing.';
  if (key !== undefined) return 'The admin key is wrong.';
  return 'The header Authorization must be "Bearer <admin key>", or Basic credentials with the admin key as the password.';
}

/**
 * Whether a page of another origin caused the request, unless by a link to a page. Browsers add Basic credentials to such requests too, so any
 * page could put load on this process. Only over HTTPS and on loopback do browsers send `Sec-Fetch-Site`.
 */
function isSentByOtherPage({ headers, routeOptions }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  const isLink = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return !isLink || routeOptions.config.isPage !== true;
}

const digest = (text: string) => createHash('sha256').update(text).digest();

/**
 * Requires the admin key on every route of the Fastify scope that registers it: 401 without a key or with a wrong one, 429 for a wrong key
 * from a network (an IPv4 address, an IPv6 `/64`) that has sent too many wrong ones. A correct key is always accepted, even from a blocked
 * network, because it is too long to guess. Requests that a browser sends for pages of other origins are refused with 403, except links to
 * routes with `isPage`. Register it before the routes. The routes must not change anything, because over plain HTTP such requests are not detected.
 */
export const adminGuard = fp<AdminGuardOptions>(
  async (app, { adminKeys, rateLimiter }) => {
    const expected = adminKeys.map(digest);
    /** Compares with every key in constant time, so that the duration reveals nothing about the keys. */
    const isAdminKey = (key: string): boolean => {
      const actual = digest(key);
      return expected.map((one) => timingSafeEqual(actual, one)).includes(true);
    };
    /** Networks that have sent too many wrong keys, and until when their wrong keys are rejected without a call to Redis. */
    const blockedUntilMs = new LRUCache<string, number>({ max: BLOCKED_NETWORKS_MAX });

    const rejectAsBlocked = (retryAfterSeconds: number): never => {
      const message = `Too many wrong admin keys. Retry in ${retryAfterSeconds} s.`;
      throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds });
    };

    app.addHook('onRequest', async (request, reply) => {
      if (isSentByOtherPage(request)) throw new ApiError('forbidden', 'A page of another origin cannot load this.');
      const { authorization } = request.headers;
      const key = readKey(authorization);
      if (key !== undefined && isAdminKey(key)) return;
      // Browsers send their first request without a key.
      if (authorization !== undefined) {
        const network = clientNetwork(request);
        const leftMs = (blockedUntilMs.get(network) ?? 0) - Date.now();
        if (leftMs > 0) rejectAsBlocked(Math.ceil(leftMs / 1000));
        const counted = await rateLimiter.take(network, BUCKET, WRONG_KEYS_MAX, WRONG_KEYS_WINDOW_SECONDS);
        if (!counted.allowed) {
          blockedUntilMs.set(network, Date.now() + counted.retryAfterSeconds * 1000);
          rejectAsBlocked(counted.retryAfterSeconds);
        }
      }
      const isForScript = request.headers.accept?.startsWith('application/json') === true;
      reply.header('www-authenticate', isForScript ? SCRIPT_CHALLENGE : CHALLENGE);
      throw new ApiError('unauthorized', rejection(authorization, key));
    });
  },
  { name: 'admin-guard' },
);
