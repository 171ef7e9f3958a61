import { setTimeout as delay } from 'node:timers/promises';
import { domainToASCII } from 'node:url';
import { API_READ, type Catalog } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { RateLimiter } from '@waymark/rate-limit';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { App } from '../server/app.js';

export interface DomainCheckDeps {
  readonly catalog: { readonly domains: Pick<Catalog['domains'], 'findBySlug'> };
  readonly rateLimiter: Pick<RateLimiter, 'take'>;
  /** The domain that belongs to every workspace. */
  readonly defaultDomain: string | undefined;
}

const HOST = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const WWW = 'www.';

const NAMES_KEPT = 10_000;
/** Anonymous clients choose the names. A name is not counted again for as long as the catalog has cached that no domain has it. */
const UNKNOWN_MS = 5_000;
/** Names that were there lately are looked up without being counted. */
const KNOWN_MS = 24 * 3_600_000;
/** First questions for a name, of all processes together: each may be a read of ClickHouse. */
const FIRST_QUESTIONS_MAX = 120;
const WINDOW_SECONDS = 60;
/** Beyond that names are looked up together, so often: a flood costs a read of ClickHouse, not one for each name. */
const TOGETHER_EVERY_MS = 250;

const querySchema = z.object({
  domain: z
    .string()
    .max(1024)
    .transform((text) => domainToASCII(text.trim().toLowerCase().replace(/\.$/, '')))
    .refine((host) => HOST.test(host), 'not a domain name, such as go.example.com'),
});

function createDomainCheck({ catalog, rateLimiter, defaultDomain }: DomainCheckDeps) {
  const asked = new LRUCache<string, true>({ max: NAMES_KEPT });
  const ownHost = defaultDomain?.replace(/:\d+$/, '');

  /** As a visit finds its domain: without `www.`, or as it is. */
  async function isRegistered(host: string): Promise<boolean> {
    const bare = host.startsWith(WWW) ? host.slice(WWW.length) : host;
    if (ownHost !== undefined && (ownHost === bare || ownHost === host)) return true;
    const find = (slug: string) => catalog.domains.findBySlug(slug, API_READ);
    const domain = (await find(bare)) ?? (bare === host ? undefined : await find(host));
    return domain !== undefined && !domain.archived;
  }

  let together: Promise<void> | undefined;
  function nextTurn(): Promise<void> {
    together ??= delay(TOGETHER_EVERY_MS).then(() => {
      together = undefined;
    });
    return together;
  }

  /**
   * Names that are registered are never refused, only looked up in batches while there are too many requests for others.
   *
   * @throws ApiError rate_limit_exceeded; internal_server_error while neither store answers
   */
  return async (host: string): Promise<boolean> => {
    const first = asked.has(host)
      ? undefined
      : await rateLimiter.take('first-question', 'domain-check', FIRST_QUESTIONS_MAX, WINDOW_SECONDS);
    const isFlood = first?.allowed === false;
    if (isFlood) await nextTurn();
    const registered = await isRegistered(host);
    if (isFlood && !registered) {
      throw new ApiError('rate_limit_exceeded', 'Too many names were asked for. Try again later.', {
        retryAfterSeconds: first.retryAfterSeconds,
      });
    }
    asked.set(host, true, { ttl: registered ? KNOWN_MS : UNKNOWN_MS });
    return registered;
  };
}

/**
 * Tells a proxy that gets certificates on demand whether it should: 200 for a domain of any workspace, 404 for everything else.
 * It needs no key, shows nothing of the owner, and is called before there is a certificate, thus over plain HTTP as well.
 */
export async function domainCheckRoutes(app: App, deps: DomainCheckDeps): Promise<void> {
  const isRegistered = createDomainCheck(deps);
  app.get('/internal/domain-check', { schema: { hide: true, querystring: querySchema } }, async (request) => {
    if (await isRegistered(request.query.domain)) return { registered: true };
    throw new ApiError('not_found', 'No such domain is registered.');
  });
}
