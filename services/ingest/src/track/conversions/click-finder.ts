import { setTimeout as pause } from 'node:timers/promises';
import { createDataLoader } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { ApiError, parseResourceId, trustedEventIdTime } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import type { EventProducer } from '@waymark/event-queue';
import { LRUCache } from 'lru-cache';
import type { FreshClicks } from '../../fresh-clicks.js';
import { orUnavailable, unavailable } from '../unavailable.js';
import { CLICK_SELECTION, clickRowOf } from './click-rows.js';
import { readRows } from './read-rows.js';

/** Finds the rows of clicks that callers name. */
export interface ClickFinder {
  /**
   * The click's row: from memory when this process has recorded or found the click lately, else from ClickHouse, where one
   * younger than a minute may not have arrived yet, and is waited for.
   *
   * @throws ApiError not_found; 500 with `Retry-After` when that cannot be known yet
   */
  find(workspaceId: string, clickId: string): Promise<EventRow>;
}

export interface ClickFinderOptions {
  readonly clickhouse: ClickHouseClient;
  readonly producer: Pick<EventProducer, 'oldestQueuedMs'>;
  readonly freshClicks: Pick<FreshClicks, 'find'>;
  readonly now: () => number;
  readonly patienceMs?: number;
}

interface ClickKey {
  readonly workspaceNumber: string;
  readonly timeMs: number;
  readonly clickId: string;
}

const YOUNG_MS = 60_000;
const PATIENCE_MS = 2000;
const POLL_FIRST_MS = 20;
const POLL_MAX_MS = 200;
/** From a click's id to its job: a batch's delay, and all that a busy process may add. */
const QUEUED_WITHIN_MS = 5000;
const CLICKS_PER_READ = 100;
const READS_MAX = 2;
const KEPT_MAX = 10_000;
const KEPT_CHARS_MAX = 16_000_000;

const QUERY = `SELECT ${CLICK_SELECTION} FROM click_events
WHERE workspace_id = {workspace:UInt64} AND timestamp IN {times:Array(DateTime64(3, 'UTC'))} AND click_id IN {ids:Array(String)}`;

function sqlTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace('T', ' ').slice(0, -1);
}

function notFound(clickId: string): ApiError {
  return new ApiError('not_found', `Click not found for the clickId "${clickId.slice(0, 64)}".`);
}

export function createClickFinder(options: ClickFinderOptions): ClickFinder {
  const { clickhouse, producer, freshClicks, now, patienceMs = PATIENCE_MS } = options;
  // Rows of clicks never change; a sale often follows its lead within the hour.
  const kept = new LRUCache<string, EventRow>({
    max: KEPT_MAX,
    maxSize: KEPT_CHARS_MAX,
    sizeCalculation: (row) => row.reduce<number>((sum, value) => sum + 8 + String(value).length, 0),
  });

  const keyText = ({ workspaceNumber, clickId }: ClickKey) => `${workspaceNumber}/${clickId}`;

  const look = createDataLoader<ClickKey, EventRow>({
    identify: keyText,
    group: ({ workspaceNumber }) => workspaceNumber,
    batchSizeMax: CLICKS_PER_READ,
    concurrentReadsMax: READS_MAX,
    async load(keys) {
      const rows = await readRows(clickhouse, QUERY, {
        workspace: keys[0]?.workspaceNumber,
        times: keys.map(({ timeMs }) => sqlTime(timeMs)),
        ids: keys.map(({ clickId }) => clickId),
      });
      return new Map(rows.map(clickRowOf).map((row) => [`${row[0]}/${row[2]}`, row]));
    },
  });

  async function waitFor(key: ClickKey): Promise<EventRow> {
    const patience = now() - key.timeMs < YOUNG_MS ? patienceMs : 0;
    const startedMs = performance.now();
    for (let delayMs = POLL_FIRST_MS; ; delayMs = Math.min(delayMs * 2, POLL_MAX_MS)) {
      const leftMs = patience - (performance.now() - startedMs);
      // Asked before ClickHouse: a click that leaves the queue in between is found by the read that follows.
      const oldestMs =
        leftMs > 0 ? undefined : await orUnavailable('age of the queue', producer.oldestQueuedMs('click'));
      const row = await orUnavailable('click look-up', look(key));
      if (row !== undefined) return row;
      if (leftMs <= 0) {
        const mayBeQueued = oldestMs !== undefined && oldestMs <= key.timeMs + QUEUED_WITHIN_MS;
        throw mayBeQueued ? unavailable('the click may still be queued') : notFound(key.clickId);
      }
      await pause(Math.min(delayMs, leftMs));
    }
  }

  return {
    async find(workspaceId, clickId) {
      const timeMs = trustedEventIdTime(clickId, now());
      const workspaceNumber = parseResourceId('workspace', workspaceId);
      if (timeMs === undefined || workspaceNumber === undefined) throw notFound(clickId);
      const key = { workspaceNumber, timeMs, clickId };
      const known = kept.get(keyText(key));
      if (known !== undefined) return known;
      const row = freshClicks.find(workspaceNumber, clickId) ?? (await waitFor(key));
      kept.set(keyText(key), row);
      return row;
    },
  };
}
