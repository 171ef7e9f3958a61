import { answerWithin } from '@waymark/cache';
import { migrationStatus } from '@waymark/clickhouse';
import { maskUrl, type RunState } from '@waymark/config';
import { checkRedisSettings, DEAD_LETTER_QUEUE, infoField, type QueueDepth, queueDepths } from '@waymark/event-queue';
import { fullDisk } from '@waymark/observability';
import { addressOption, type RawOption } from '../option-values.js';
import { type CommandResult, table } from '../output.js';
import { connectRedis, findTarget, type Target, withClickHouse } from '../stores.js';

const API_TIMEOUT_MS = 3_000;
/** Of a store, which a busy machine may slow down. */
const STORE_TIMEOUT_MS = 5_000;

/** The result of the check of one component. */
type Check<T> = ({ readonly ok: true } & T) | { readonly ok: false; readonly error: string };

async function check<T extends object>(work: () => Promise<T>): Promise<Check<T>> {
  try {
    return { ok: true, ...(await work()) };
  } catch (err) {
    return { ok: false, error: err instanceof Error ? err.message : String(err) };
  }
}

function checkApi(target: Target, api: string | undefined) {
  const named = api ?? target.stack?.api;
  const url = named ?? target.settings.baseUrl;
  return check(async () => {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(API_TIMEOUT_MS) }).catch(() => {
      const hint =
        named === undefined
          ? ' (this is BASE_URL: with --api, give the address at which this machine or container reaches the API)'
          : '';
      throw new Error(`${url} does not answer${hint}`);
    });
    if (!answer.ok) throw new Error(`${url}/readyz answers ${answer.status}`);
    return { url };
  });
}

function checkRedis(target: Target, name: string, url?: string) {
  return check(async () => {
    const redis = connectRedis(target, url);
    const read = async () => {
      const info = await redis.info();
      return {
        version: infoField(info, 'redis_version') ?? null,
        usedMemoryBytes: Number(infoField(info, 'used_memory')),
        maxMemoryBytes: Number(infoField(info, 'maxmemory')),
        maxMemoryPolicy: infoField(info, 'maxmemory_policy') ?? null,
        appendOnly: infoField(info, 'aof_enabled') === '1',
        queue: await queueDepths(redis),
        warnings: await checkRedisSettings(redis, name),
      };
    };
    try {
      return await answerWithin(read(), STORE_TIMEOUT_MS);
    } finally {
      redis.disconnect();
    }
  });
}

function checkClickHouse(target: Target) {
  return check(async () => {
    const { clickhouseCluster: cluster } = target.settings;
    const migrations = await withClickHouse(target, (clickhouse) =>
      answerWithin(migrationStatus(clickhouse, { cluster }), STORE_TIMEOUT_MS),
    );
    const numberOf = (...states: readonly string[]) => migrations.filter(({ state }) => states.includes(state)).length;
    const notApplied = numberOf('pending', 'changed');
    if (notApplied > 0) throw new Error(`${notApplied} migrations are not applied; see: waymark migrate status`);
    return { migrations: numberOf('applied'), ofNewerRelease: numberOf('unknown') };
  });
}

/** Fails when the disk with the DATA_DIR of the running stack is full, which explains failures of its stores and services. */
function checkDisk({ settings, stack }: Target) {
  return check(async () => {
    const line = stack === undefined ? undefined : await fullDisk(settings.dataDir);
    if (line !== undefined) throw new Error(line);
    return {};
  });
}

function migrationsText({ migrations, ofNewerRelease }: { migrations: number; ofNewerRelease: number }): string {
  return `${migrations} migrations applied${ofNewerRelease > 0 ? `, and ${ofNewerRelease} of a newer release` : ''}`;
}

/** Warnings about a Redis that answers: settings that may lose data, and dead letters. */
function warningsOf(store: Awaited<ReturnType<typeof checkRedis>>): readonly string[] {
  if (!store.ok) return [];
  const letters = store.queue[DEAD_LETTER_QUEUE].waiting;
  return [
    ...store.warnings,
    ...(letters > 0 ? [`${letters} events could not be stored; see: waymark dead-letters list`] : []),
  ];
}

function statusText(result: { readonly ok: boolean; readonly error?: string }, detail: string): string {
  return result.ok ? detail : `failed: ${result.error}`;
}

/** The run state without the passwords of the stores, because it is printed. */
function maskStack(stack: RunState | undefined): RunState | null {
  return stack === undefined ? null : { ...stack, redis: maskUrl(stack.redis), clickhouse: maskUrl(stack.clickhouse) };
}

/** `waymark status`: shows the health of all components and the queue depths. Exits with 1 when a component fails. */
export async function showStatus({ api: apiOption }: { readonly api?: RawOption }): Promise<CommandResult> {
  const target = findTarget();
  const [api, redis, clickhouse, disk, otherQueueShards] = await Promise.all([
    checkApi(target, addressOption('api', apiOption)),
    checkRedis(target, 'REDIS_URL'),
    checkClickHouse(target),
    checkDisk(target),
    Promise.all(target.settings.otherQueueShards.map((url) => checkRedis(target, 'QUEUE_SHARDS', url))),
  ]);
  const megabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`;
  const stores = [redis, ...otherQueueShards].map((store, shard) => ({
    store,
    suffix: shard === 0 ? '' : `-${shard}`,
  }));
  const queueRows = stores.flatMap(({ store, suffix }) => {
    const depths: Readonly<Record<string, QueueDepth>> = store.ok ? store.queue : {};
    return Object.entries(depths).map(([name, depth]) => [`${name}${suffix}`, ...Object.values(depth).map(String)]);
  });
  return {
    data: {
      stack: maskStack(target.stack),
      api,
      redis,
      clickhouse,
      disk,
      ...(otherQueueShards.length > 0 && { queueShards: otherQueueShards }),
    },
    failed: !(api.ok && clickhouse.ok && disk.ok && stores.every(({ store }) => store.ok)),
    lines: [
      `api         ${statusText(api, api.ok ? api.url : '')}`,
      ...stores.map(({ store, suffix }) => {
        const memory = store.ok ? `${megabytes(store.usedMemoryBytes)} of ${megabytes(store.maxMemoryBytes)}` : '';
        return `${`redis${suffix}`.padEnd(11)} ${statusText(store, memory)}`;
      }),
      `clickhouse  ${statusText(clickhouse, clickhouse.ok ? migrationsText(clickhouse) : '')}`,
      ...(disk.ok ? [] : [`disk        ${statusText(disk, '')}`]),
      ...stores.flatMap(({ store }) => warningsOf(store)).map((warning) => `warning     ${warning}`),
      '',
      ...table([['QUEUE', 'WAITING', 'ACTIVE', 'DELAYED'], ...queueRows]),
    ],
  };
}
