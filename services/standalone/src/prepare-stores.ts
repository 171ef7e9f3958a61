import { setTimeout as delay } from 'node:timers/promises';
import { answerWithin } from '@waymark/cache';
import {
  afterRestore,
  type Catalog,
  createCatalog,
  DEFAULT_PLAN,
  DEFAULT_QUOTAS,
  isUnreadable,
} from '@waymark/catalog';
import { applySchema, type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { readRestoredMark, removeRestoredMark, type Settings } from '@waymark/config';
import { ApiError } from '@waymark/contract';
import { checkRedisSettings } from '@waymark/event-queue';
import type { Logger } from '@waymark/http-kit';
import { checkWritable, connectRedis } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { keepFirstKey } from './first-key.js';
import type { Stores } from './stack.js';

/** How long a step is repeated that fails with 500: a store is away, or a killed start has left its locks, which expire after thirty seconds. */
const REFUSED_MS_MAX = 30_000;
const PAUSE_MS = 500;

/** Repeats `work` while it fails with 500. @throws its last error */
async function whileRefused<T>(work: () => Promise<T>): Promise<T> {
  const untilMs = Date.now() + REFUSED_MS_MAX;
  for (;;) {
    try {
      return await work();
    } catch (err) {
      const isRefused = err instanceof ApiError && err.code === 'internal_server_error' && !isUnreadable(err);
      if (!isRefused || Date.now() > untilMs) throw err;
      await delay(PAUSE_MS);
    }
  }
}

/** @returns the API key of the workspace; undefined if there is a workspace already */
async function createFirstWorkspace(catalog: Catalog, domain: string): Promise<string | undefined> {
  // A workspace that a later release has stored, and that this one cannot read, counts as well.
  const { records, unreadable } = await catalog.workspaces.listReadable();
  if (records.length + unreadable.length > 0) return undefined;
  const created = await catalog.workspaces.create({
    name: 'Default',
    slug: 'default',
    plan: DEFAULT_PLAN,
    quotas: DEFAULT_QUOTAS,
    domain,
  });
  return created.apiKey.token;
}

/** Codes of errors with which every attempt to add a domain would fail: the start continues without the domain. */
const LASTING: ReadonlySet<string> = new Set(['conflict', 'forbidden', 'unprocessable_entity']);

/** Adds the default domain to the default workspace, in case DEFAULT_DOMAIN has changed since the first start. */
async function addDomain(catalog: Catalog, domain: string, logger: Logger): Promise<void> {
  const workspace = await catalog.workspaces.findBySlug('default').catch((err: unknown) => {
    if (isUnreadable(err)) return undefined;
    throw err;
  });
  if (workspace === undefined || (await catalog.domains.findBySlug(domain)) !== undefined) return;
  try {
    await catalog.domains.create(workspace.id, { slug: domain });
  } catch (err) {
    if (!(err instanceof ApiError && LASTING.has(err.code))) throw err;
    logger.warn({ err, domain }, 'the default domain could not be added');
  }
}

/** Prepares stores that were restored from a backup, at the first start after the restore. */
async function prepareRestored({ stores, settings, logger, report }: PrepareOptions, catalog: Catalog): Promise<void> {
  const mark = readRestoredMark(settings.dataDir);
  if (mark === undefined) return;
  const queues = [stores.redisUrl, ...settings.otherQueueShards].map((url) => connectRedis(url, { lazyConnect: true }));
  for (const queue of queues) queue.on('error', (err) => logger.warn({ err }, 'redis'));
  try {
    const disabled = await afterRestore({
      ...mark,
      catalog,
      queues,
      areTokensLost: settings.clickhouseUrl !== undefined,
      now: Date.now,
    });
    report(
      `restored from a backup of ${mark.backupAt}: ${disabled} export schedules are disabled until their owners enable them`,
    );
  } finally {
    for (const queue of queues) queue.disconnect();
  }
  removeRestoredMark(settings.dataDir);
}

const RESPONSE_MS_MAX = 5000;

/** Checks that ClickHouse responds and Redis accepts writes. @throws Error naming the setting of the store that does not, without its credentials */
async function checkStores(redis: Redis, clickhouse: ClickHouseClient): Promise<void> {
  const named = async (setting: string, answer: Promise<unknown>) => {
    try {
      await answerWithin(answer, RESPONSE_MS_MAX);
    } catch (err) {
      throw new Error(`${setting}: the store cannot be used: ${err instanceof Error ? err.message : String(err)}`);
    }
  };
  await Promise.all([
    named('REDIS_URL', checkWritable(redis)),
    named(
      'CLICKHOUSE_URL',
      clickhouse.ping().then((ping) => (ping.success ? undefined : Promise.reject(ping.error))),
    ),
  ]);
}

/** What {@link prepareStores} prepares. */
export interface PrepareOptions {
  readonly stores: Stores;
  readonly settings: Settings;
  /** The default domain: that of the first workspace. Later starts add it to the workspace `default`. */
  readonly domain: string;
  readonly logger: Logger;
  /** Called with lines for the terminal. */
  readonly report: (line: string) => void;
}

/**
 * Checks that the stores can be used, applies the migrations and what the settings say of ClickHouse (placement, retention, the view of the
 * query log), prepares stores that were restored from a backup, and creates the first workspace, whose API key is then in a file of DATA_DIR. If there is a workspace already, adds the default domain to the workspace `default`.
 *
 * @returns the API key of the workspace, if this start created it
 * @throws Error naming the setting of a store that cannot be used; the error of a migration
 */
export async function prepareStores(options: PrepareOptions): Promise<string | undefined> {
  const { stores, settings, domain, logger, report } = options;
  const clickhouse = createClickHouseClient({
    url: stores.clickhouseUrl,
    database: settings.clickhouseDatabase,
    user: settings.clickhouseUser,
    password: settings.clickhousePassword,
  });
  const redis = connectRedis(stores.redisUrl, { lazyConnect: true });
  redis.on('error', (err) => logger.warn({ err }, 'redis'));
  const catalog = createCatalog({
    redis,
    clickhouse,
    instanceKey: stores.instanceKeys.current,
    otherInstanceKeys: stores.instanceKeys.others,
    now: Date.now,
    logger,
    baseUrl: settings.baseUrl,
    isReplicated: settings.clickhouseCluster !== undefined,
    waitReplicas: settings.redisWaitReplicas,
  });
  try {
    await checkStores(redis, clickhouse);
    if (settings.redisUrl !== undefined) for (const line of await checkRedisSettings(redis)) report(line);
    await applySchema(clickhouse, {
      cluster: settings.clickhouseCluster,
      addressDays: settings.addressRetentionDays,
      eventDays: settings.eventRetentionDays,
    });
    await prepareRestored(options, catalog);
    const apiKey = await whileRefused(() => createFirstWorkspace(catalog, domain));
    if (apiKey === undefined) await whileRefused(() => addDomain(catalog, domain, logger));
    else keepFirstKey(settings.dataDir, apiKey);
    return apiKey;
  } finally {
    await catalog.close();
    redis.disconnect();
    await clickhouse.close();
  }
}
