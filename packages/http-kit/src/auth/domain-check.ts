import { setTimeout as delay } from 'node:timers/promises';
import { domainToASCII } from 'node:url';
import { createTrackedCache } from '@waymark/cache';
import { API_READ, type Catalog } from '@waymark/catalog';
import { ApiError, withoutPort, withoutWww } from '@waymark/contract';
import type { RateLimiter } from '@waymark/rate-limit';
import { z } from 'zod';
import type { App } from '../server/app.js';

export interface DomainCheckDeps {
  readonly catalog: { readonly domains: Pick<Catalog['domains'], 'findBySlug'> };
  readonly rateLimiter: Pick<RateLimiter, 'take'>;
  /** The domain that every workspace may use. */
  readonly defaultDomain: string | undefined;
}

const HOST = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const CACHED_NAMES_MAX = 10_000;
/** Look-ups of a name that is not registered are not counted again for this long: the catalog caches the absence of the name meanwhile. */
const UNREGISTERED_TTL_MS = 5_000;
/** Look-ups of a registered name are not counted for this long after its first one. */
const REGISTERED_TTL_MS = 24 * 3_600_000;
/** Limit on counted look-ups in a window, in all processes together: each may read ClickHouse, and anonymous clients choose the names. */
const NEW_NAMES_MAX = 120;
const WINDOW_SECONDS = 60;
/** Beyond that limit look-ups wait for the next batch, so that a flood costs one read of ClickHouse per batch, not one per name. */
const BATCH_INTERVAL_MS = 250;

const querySchema = z.object({
  domain: z
    .string()
    .max(1024)
    .transform((text) => domainToASCII(text.trim().toLowerCase().replace(/\.$/, '')))
    .refine((host) => HOST.test(host), 'not a domain name, such as go.example.com'),
});

/** Creates the function that looks up whether a host is registered. */
function createDomainCheck({ catalog, rateLimiter, defaultDomain }: DomainCheckDeps) {
  /** Names whose look-ups are not counted, and whether they are registered. */
  const recentNames = createTrackedCache<boolean>({
    bound: { entriesMax: CACHED_NAMES_MAX },
    ttlMs: (registered) => (registered ? REGISTERED_TTL_MS : UNREGISTERED_TTL_MS),
    now: () => performance.now(),
  });
  const ownHost = defaultDomain && withoutPort(defaultDomain);

  /** Looks up a host as redirects do, without `www.`. */
  async function isRegistered(host: string): Promise<boolean> {
    const slug = withoutWww(host);
    if (ownHost === slug) return true;
    const domain = await catalog.domains.findBySlug(slug, API_READ);
    return domain !== undefined && !domain.archived;
  }

  let nextBatch: Promise<void> | undefined;
  function waitForBatch(): Promise<void> {
    nextBatch ??= delay(BATCH_INTERVAL_MS).then(() => {
      nextBatch = undefined;
    });
    return nextBatch;
  }

  /**
   * Whether a host is the domain of any workspace. A registered name is never rejected: during a flood of unregistered names, its look-up
   * only waits for a batch.
   *
   * @throws ApiError rate_limit_exceeded; internal_server_error while neither store is available
   */
  return async (host: string): Promise<boolean> => {
    const counted =
      recentNames.get(host) !== undefined
        ? undefined
        : await rateLimiter.take('uncached-names', 'domain-check', NEW_NAMES_MAX, WINDOW_SECONDS);
    const isFlood = counted?.allowed === false;
    if (isFlood) await waitForBatch();
    const registered = await isRegistered(host);
    if (isFlood && !registered) {
      throw new ApiError('rate_limit_exceeded', 'Too many names were looked up. Try again later.', {
        retryAfterSeconds: counted.retryAfterSeconds,
      });
    }
    recentNames.set(host, registered);
    return registered;
  };
}

/**
 * Lets a proxy with on-demand TLS check whether to request a certificate: 200 for a domain of any workspace, 404 for everything
 * else. The route needs no key, reveals nothing about the owner and also works over plain HTTP, as it is called before a certificate
 * exists.
 */
export async function domainCheckRoutes(app: App, deps: DomainCheckDeps): Promise<void> {
  const isRegistered = createDomainCheck(deps);
  app.get('/internal/domain-check', { schema: { hide: true, querystring: querySchema } }, async (request) => {
    if (await isRegistered(request.query.domain)) return { registered: true };
    throw new ApiError('not_found', 'No such domain is registered.');
  });
}
