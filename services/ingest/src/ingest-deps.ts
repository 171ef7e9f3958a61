import { createHmac } from 'node:crypto';
import type { Catalog } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import type { InstanceKeys, Settings } from '@waymark/config';
import type { EventProducer } from '@waymark/event-queue';
import { createRequestIds, type Logger } from '@waymark/http-kit';
import type { RateLimiter } from '@waymark/rate-limit';
import { createVisitReader } from '@waymark/visit';
import type { Redis } from 'ioredis';
import { createAdmission } from './admission.js';
import { createAppStoreClicks } from './app-store-clicks.js';
import { createFreshClicks } from './fresh-clicks.js';
import { createPasswordAttempts } from './redirect/password/password-attempts.js';
import { createPasswordGate } from './redirect/password/password-gate.js';
import type { RedirectDeps } from './redirect/redirector.js';
import { createConversionTrackers } from './track/conversion-trackers.js';
import { createCurrencyConverter } from './track/conversions/currencies.js';
import type { TrackRouteDeps } from './track/track-routes.js';

/** Dependencies of the routes of this service. */
export interface IngestDeps
  extends Omit<RedirectDeps, 'catalog' | 'producers' | 'admission' | 'appStoreClicks' | 'freshClicks'>,
    TrackRouteDeps {
  /** Stops watching the geo database and the file of exchange rates; the stores stay open. */
  close(): void;
}

export interface IngestDepsOptions {
  readonly settings: Pick<
    Settings,
    | 'trustedProxies'
    | 'geoDatabase'
    | 'geoEdge'
    | 'geoHeaders'
    | 'anonymisedAddresses'
    | 'currencyRatesFile'
    | 'defaultDomain'
    | 'clickhouseCluster'
  >;
  readonly instanceKeys: Pick<InstanceKeys, 'current' | 'others' | 'deriving'>;
  readonly catalog: Catalog;
  /** By number of the queue shard. */
  readonly producers: readonly EventProducer[];
  readonly clickhouse: ClickHouseClient;
  /** For clicks that led to an app store. It must have a command time-out. */
  readonly redis: Redis;
  readonly rateLimiter: RateLimiter;
  readonly logger: Logger;
  readonly now?: () => number;
}

/** Creates the dependencies from the settings. @throws Error when a configured file cannot be read */
export function createIngestDeps(options: IngestDepsOptions): IngestDeps {
  const { settings, catalog, producers, clickhouse, redis, rateLimiter, logger, now = Date.now } = options;
  const { current, others, deriving } = options.instanceKeys;
  const secretOf = (key: Buffer, purpose: string) => createHmac('sha256', key).update(purpose).digest();
  const onReloadError = (what: string) => (err: unknown) =>
    logger.warn({ err }, `${what} cannot be read; the previous content stays in use`);
  const readVisit = createVisitReader({
    trustedProxies: settings.trustedProxies,
    geoDatabase: settings.geoDatabase,
    geoEdge: settings.geoEdge,
    geoHeaders: settings.geoHeaders,
    anonymisedAddresses: settings.anonymisedAddresses,
    identitySalt: secretOf(deriving, 'visitor identity').toString('hex'),
    onReloadError: onReloadError('the geo database'),
    onLookupError: (err) =>
      logger.warn({ err }, 'the geo database is damaged: the places of some visitors are Unknown'),
  });
  const { geoDatabase, geoEdge, geoHeaders } = settings;
  if (geoDatabase === undefined && geoEdge === undefined && geoHeaders.country === undefined) {
    logger.warn(
      {},
      'no source for the location of visitors is configured (GEO_DATABASE, GEO_EDGE): their country is Unknown, and their addresses are not stored, because they may be in the EU',
    );
  }
  const currencies = createCurrencyConverter({
    ratesFile: settings.currencyRatesFile,
    onUnknown: (currency) =>
      logger.warn(
        { currency },
        'no exchange rate is configured (CURRENCY_RATES_FILE): amounts in this currency are not converted to USD',
      ),
    onReloadError: onReloadError('the file of exchange rates'),
  });
  const passwords = createPasswordGate({
    secret: secretOf(current, 'link passwords'),
    otherSecrets: others.map((key) => secretOf(key, 'link passwords')),
    passwordOf: catalog.links.passwordOf,
    attempts: createPasswordAttempts(rateLimiter),
  });
  const [firstProducer, ...otherProducers] = producers;
  if (firstProducer === undefined) throw new TypeError('there must be a producer for queue shard 0');
  const deps: Omit<IngestDeps, 'conversions'> = {
    catalog,
    producers: [firstProducer, ...otherProducers],
    clickhouse,
    cluster: settings.clickhouseCluster,
    readVisit,
    admission: createAdmission({ catalog, passwords, defaultDomain: settings.defaultDomain, now }),
    passwords,
    appStoreClicks: createAppStoreClicks({ redis, secret: secretOf(deriving, 'app opens'), logger }),
    freshClicks: createFreshClicks(now),
    rateLimiter,
    random: Math.random,
    currencies,
    defaultDomain: settings.defaultDomain,
    logger,
    requestIds: createRequestIds(settings.trustedProxies),
    now,
    close() {
      readVisit.close();
      currencies.close();
    },
  };
  return { ...deps, conversions: createConversionTrackers(deps) };
}
