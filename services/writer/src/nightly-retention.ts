import type { Stores } from '@waymark/bootstrap';
import { applyWorkspaceRetention, type Catalog } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import type { Logger } from '@waymark/http-kit';
import { keyPrefix } from '@waymark/redis';
import { type PeriodicTask, startPeriodicTask } from './periodic-task.js';

export interface NightlyRetentionOptions {
  readonly catalog: { readonly workspaces: Pick<Catalog['workspaces'], 'listReadable'> };
  readonly clickhouse: ClickHouseClient;
  readonly redis: Stores['redis'];
  readonly cluster?: string | undefined;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly now?: () => number;
  readonly intervalMs?: number;
}

const INTERVAL_MS = 10 * 60_000;
const HOUR_MS = 3_600_000;
/** Time after midnight UTC at which the work of a night starts: by then, events that expire at midnight are in ClickHouse. */
const AFTER_MIDNIGHT_MS = HOUR_MS;
/** How long Redis stores the last night whose work is done. */
const DONE_TTL_MS = 48 * HOUR_MS;
const COULD_NOT_BE_DELETED = 'expired events could not be deleted; retrying in ten minutes';

/** Deletes events and addresses whose retention has ended, once a night, in one writer at a time. */
export function startNightlyRetention(options: NightlyRetentionOptions): PeriodicTask {
  const { catalog, clickhouse, redis, cluster, logger, now = Date.now } = options;
  const doneKey = `${keyPrefix(redis)}waymark:retention:night`;

  async function deleteExpired(closing: AbortSignal): Promise<void> {
    const nowMs = now();
    const night = new Date(nowMs - AFTER_MIDNIGHT_MS).toISOString().slice(0, 10);
    if ((await redis.get(doneKey)) === night) return;
    const report = await applyWorkspaceRetention({
      workspaces: catalog.workspaces,
      clickhouse,
      redis,
      cluster,
      nowMs,
      signal: closing,
    });
    if (report === undefined) return;
    const { counts, uncounted, changed, waiting, failed } = report;
    if (changed.length > 0)
      logger.info({ counts, uncounted, changed }, 'expired events and addresses are being deleted');
    if (waiting.length > 0)
      logger.warn({ waiting }, 'expired rows stay in these tables until an earlier mutation of them has ended');
    const [first] = failed;
    if (first !== undefined)
      logger.error({ err: first.err, tables: failed.map(({ table }) => table) }, COULD_NOT_BE_DELETED);
    if (waiting.length + failed.length === 0) await redis.set(doneKey, night, 'PX', DONE_TTL_MS);
  }

  return startPeriodicTask(deleteExpired, {
    intervalMs: options.intervalMs ?? INTERVAL_MS,
    onError(err, closing) {
      if (!closing.aborted) logger.error({ err }, COULD_NOT_BE_DELETED);
    },
  });
}
