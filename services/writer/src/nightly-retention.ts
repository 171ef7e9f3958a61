import { applyWorkspaceRetention, type Catalog, type Stores } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import type { Logger } from '@waymark/http-kit';
import { keyPrefix } from '@waymark/redis';

export interface NightlyRetentionOptions {
  readonly catalog: { readonly workspaces: Pick<Catalog['workspaces'], 'list'> };
  readonly clickhouse: ClickHouseClient;
  readonly redis: Stores['redis'];
  readonly cluster?: string | undefined;
  readonly logger: Pick<Logger, 'info' | 'error'>;
  readonly now?: () => number;
  readonly intervalMs?: number;
}

export interface NightlyRetention {
  /** Deletes what has expired, unless that was done this night. Never rejects. */
  run(): Promise<void>;
  close(): Promise<void>;
}

const INTERVAL_MS = 10 * 60_000;
const HOUR_MS = 3_600_000;
/** When a night begins, UTC: what expires at midnight is then in ClickHouse and in no queue. */
const BEGINS_MS = HOUR_MS;
/** How long it is stored that a night's work is done. */
const DONE_MS = 48 * HOUR_MS;

/** Deletes what workspaces should not have any more, every night, in one writer at a time. */
export function startNightlyRetention(options: NightlyRetentionOptions): NightlyRetention {
  const { catalog, clickhouse, redis, cluster, logger, now = Date.now } = options;
  const doneKey = `${keyPrefix(redis)}waymark:retention:night`;
  let running: Promise<void> | undefined;

  async function deleteExpired(): Promise<void> {
    const nowMs = now();
    const night = new Date(nowMs - BEGINS_MS).toISOString().slice(0, 10);
    if ((await redis.get(doneKey)) === night) return;
    const report = await applyWorkspaceRetention({
      ...{ workspaces: catalog.workspaces, clickhouse, redis, cluster, nowMs },
    });
    if (report === undefined) return;
    const { counts, changed, waiting } = report;
    if (counts.length > 0) logger.info({ counts, changed, waiting }, 'expired events and addresses are being deleted');
    if (waiting.length === 0) await redis.set(doneKey, night, 'PX', DONE_MS);
  }

  const run = (): Promise<void> => {
    running ??= deleteExpired()
      .catch((err: unknown) => logger.error({ err }, 'expired events could not be deleted; retrying in ten minutes'))
      .finally(() => {
        running = undefined;
      });
    return running;
  };

  const timer = setInterval(() => void run(), options.intervalMs ?? INTERVAL_MS);
  timer.unref();
  return {
    run,
    async close() {
      clearInterval(timer);
      await running;
    },
  };
}
