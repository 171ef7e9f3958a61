import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@waymark/contract';
import { limitedNetwork, type RateLimiter } from '@waymark/rate-limit';
import fp from 'fastify-plugin';
import { LRUCache } from 'lru-cache';

export interface AdminGuardOptions {
  /** Undefined = there is none: what it guards is closed. */
  readonly adminKey: string | undefined;
  readonly rateLimiter: Pick<RateLimiter, 'take'>;
}

const BUCKET = 'admin-key';
const TRIES_MAX = 10;
const TRIES_WINDOW_SECONDS = 60;
const NETWORKS_KEPT = 10_000;
/** Longer than any key; keeps anonymous callers from making the server hash a header of 100 kB. */
const HEADER_CHARS_MAX = 1024;
/** Makes browsers prompt for the key. */
const CHALLENGE = 'Basic realm="Waymark operators", charset="UTF-8"';

/** `Bearer <key>`, or Basic with the key as the password of any user; undefined = neither. */
function givenKey(header: string | undefined): string | undefined {
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

const digest = (text: string) => createHash('sha256').update(text).digest();

/**
 * Puts every route of the scope it is registered in behind the admin key: 401 without it, 429 for wrong keys of a network (an
 * IPv4 address, an IPv6 `/64`) that has sent too many. The right key is let in whatever others of its network have sent; it is
 * too long to be guessed. Register it before the routes.
 */
export const adminGuard = fp<AdminGuardOptions>(
  async (app, { adminKey, rateLimiter }) => {
    const expected = adminKey === undefined ? undefined : digest(adminKey);
    /** Networks that have sent too many wrong keys, with the end of the limit: no store is queried about them before. */
    const refusedUntilMs = new LRUCache<string, number>({ max: NETWORKS_KEPT });

    const refuseTry = (network: string, retryAfterSeconds: number): never => {
      refusedUntilMs.set(network, Date.now() + retryAfterSeconds * 1000);
      const message = `Too many wrong admin keys. Retry in ${retryAfterSeconds} s.`;
      throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds });
    };

    app.addHook('onRequest', async (request, reply) => {
      const { authorization } = request.headers;
      const given = givenKey(authorization);
      if (given !== undefined && expected !== undefined && timingSafeEqual(digest(given), expected)) return;
      // Browsers send their first request without a key.
      if (authorization !== undefined) {
        const network = limitedNetwork(request.ip);
        const leftMs = (refusedUntilMs.get(network) ?? 0) - Date.now();
        if (leftMs > 0) refuseTry(network, Math.ceil(leftMs / 1000));
        const counted = await rateLimiter.take(network, BUCKET, TRIES_MAX, TRIES_WINDOW_SECONDS);
        if (!counted.allowed) refuseTry(network, counted.retryAfterSeconds);
      }
      reply.header('www-authenticate', CHALLENGE);
      throw new ApiError('unauthorized', 'This page needs the admin key.');
    });
  },
  { name: 'admin-guard' },
);
