import { setTimeout as delay } from 'node:timers/promises';
import { createDataLoader, createTrackedCache, withTimeout } from '@waymark/cache';
import type { ErasedPeopleReader } from '@waymark/catalog';
import {
  type ClickHouseClient,
  clickParameters,
  clickRowOf,
  type ReplicaRows,
  STORED_CLICKS,
} from '@waymark/clickhouse';
import { ApiError, parseResourceId, trustedEventIdTime } from '@waymark/contract';
import { anonymisedRow, type EventRow } from '@waymark/event-format';
import type { EventProducer } from '@waymark/event-queue';
import type { FreshClicks } from '../../fresh-clicks.js';
import { notRecorded, orNotRecorded } from '../not-recorded.js';
import type { ClickAliases } from './click-aliases.js';
import { readClick } from './click-rows.js';
import { createReplicaCheck, readReplicas, readRows } from './read-rows.js';

/** Finds the rows of clicks by the click ids in requests. */
export interface ClickFinder {
  /**
   * The click's row: from memory if this process recorded or found the click recently, else from the queue or from ClickHouse. A click that is
   * younger than a minute may be in a spool, so it is waited for. If no click has the id, it may be the alias of an imported click. On a
   * cluster, a click of the last ten minutes that the replica which is read lacks is looked up on all of them.
   *
   * @param isHeld whether a known customer has the click: then it stays, without texts, when another person who has it is erased with `delete`
   * @throws ApiError not_found; 500 with `Retry-After` when the click may still be queued, or on a replica that is away, or after eight seconds
   */
  find(workspaceId: string, clickId: string, isHeld?: boolean): Promise<EventRow>;
}

export interface ClickFinderOptions {
  readonly clickhouse: ClickHouseClient;
  /** Name of the ClickHouse cluster; undefined for a single node. */
  readonly cluster?: string | undefined;
  readonly producer: Pick<EventProducer, 'oldestQueuedMs' | 'findQueuedClick'>;
  readonly freshClicks: Pick<FreshClicks, 'find'>;
  readonly aliases: ClickAliases;
  /** People who were erased lately: their clicks are returned without identifying data. */
  readonly erased: Pick<ErasedPeopleReader, 'peek'>;
  readonly now: () => number;
  readonly maxWaitMs?: number;
  /** How long a look-up takes at most; eight seconds by default. */
  readonly deadlineMs?: number;
}

interface ClickKey {
  readonly workspaceNumber: string;
  readonly timeMs: number;
  readonly clickId: string;
}

const RECENT_MS = 60_000;
const MAX_WAIT_MS = 2000;
/** Older clicks are not looked for in the queue: event-queue stores the positions of queued clicks for this long. */
const QUEUED_MS_MAX = 5 * 60_000;
const POLL_FIRST_MS = 20;
const POLL_MAX_MS = 200;
/** Longest time from creating a click id to queueing the click: the delay of a batch plus that of a busy process. */
const QUEUED_WITHIN_MS = 5000;
/** How long replicas of ClickHouse may lack a click that is stored. Older ones are looked up on one replica. */
const LAG_MS = 10 * 60_000;
/** Includes the wait for reads of other requests. */
const DEADLINE_MS = 8000;
const CLICKS_PER_READ = 100;
const READS_MAX = 2;
const CACHED_ROWS_MAX = 10_000;
const CACHED_CHARS_MAX = 16_000_000;
/** A sale often follows its lead within the hour. Less than a day, because retention may empty or delete the stored row after one. */
const CACHED_MS = 3_600_000;

const { table, columns, where } = STORED_CLICKS;
const QUERY = `SELECT ${columns.join(', ')} FROM ${table} WHERE ${where}`;

function notFound(clickId: string): ApiError {
  return new ApiError('not_found', `Click not found for the clickId "${clickId.slice(0, 64)}".`);
}

/** The characters of a row, or a ten-thousandth of the limit on the cache if that is more. */
function sizeInCache(row: EventRow): number {
  const chars = row.reduce<number>((sum, value) => sum + 8 + String(value).length, 0);
  return Math.max(CACHED_CHARS_MAX / CACHED_ROWS_MAX, chars);
}

/** Creates the look-ups for one queue shard, with a cache of the rows that they have found. */
export function createClickFinder(options: ClickFinderOptions): ClickFinder {
  const { clickhouse, cluster, producer, freshClicks, aliases, now } = options;
  const { maxWaitMs = MAX_WAIT_MS, deadlineMs = DEADLINE_MS } = options;
  const rowCache = createTrackedCache<EventRow>({
    bound: { sizeMax: CACHED_CHARS_MAX, sizeOf: sizeInCache },
    ttlMs: CACHED_MS,
    now,
  });

  const keyText = ({ workspaceNumber, clickId }: ClickKey) => `${workspaceNumber}/${clickId}`;

  const batches = {
    identify: keyText,
    group: ({ workspaceNumber }: ClickKey) => workspaceNumber,
    batchSizeMax: CLICKS_PER_READ,
    concurrentReadsMax: READS_MAX,
  };
  const parametersOf = (keys: readonly ClickKey[]) => clickParameters(keys[0]?.workspaceNumber, keys);

  const loadClick = createDataLoader<ClickKey, EventRow>({
    ...batches,
    async load(keys) {
      const rows = await readRows(clickhouse, QUERY, parametersOf(keys));
      return new Map(rows.map(clickRowOf).map((row) => [`${row[0]}/${row[2]}`, row]));
    },
  });

  /** What all replicas that answer have, the rows by click id. */
  const loadFromReplicas = createDataLoader<ClickKey, ReplicaRows>({
    ...batches,
    async load(keys) {
      if (cluster === undefined) return new Map();
      const found = await readReplicas(clickhouse, { ...STORED_CLICKS, cluster, parameters: parametersOf(keys) });
      return new Map(keys.map((key) => [keyText(key), found]));
    },
  });
  const findComplete = cluster === undefined ? undefined : createReplicaCheck(clickhouse, cluster, table);

  /** The row of a click that is still queued. While Redis does not answer it is undefined, and ClickHouse is read next. */
  async function findQueued({ workspaceNumber, timeMs, clickId }: ClickKey): Promise<EventRow | undefined> {
    if (now() - timeMs > QUEUED_MS_MAX) return undefined;
    const text = await producer.findQueuedClick(clickId).catch(() => undefined);
    if (text === undefined) return undefined;
    const row = JSON.parse(text) as EventRow;
    return row[0] === workspaceNumber && readClick(row).clickId === clickId ? row : undefined;
  }

  /** The row, anonymised if its visitor was erased. @throws ApiError not_found when the erasure deletes the click, unless it is held */
  function withoutErased(row: EventRow, workspaceNumber: string, isHeld: boolean): EventRow {
    const people = options.erased.peek();
    if (people === undefined) return row;
    const { clickId } = readClick(row);
    const mode = people.modeOfClick(workspaceNumber, clickId);
    if (mode === 'delete' && !isHeld) throw notFound(clickId);
    return mode === undefined ? row : anonymisedRow('click', row);
  }

  /**
   * The row of the click from the queue or ClickHouse. A click that is younger than a minute is looked up repeatedly for `maxWaitMs`.
   *
   * @throws ApiError 500 when the click may still be queued
   */
  async function waitFor(key: ClickKey): Promise<EventRow | undefined> {
    // A click that Redis did not take in time is replayed from the spool into the queue, usually within a tenth of a second.
    const waitMs = now() - key.timeMs < RECENT_MS ? maxWaitMs : 0;
    const startedMs = performance.now();
    for (let delayMs = POLL_FIRST_MS; ; delayMs = Math.min(delayMs * 2, POLL_MAX_MS)) {
      const leftMs = waitMs - (performance.now() - startedMs);
      // Read before ClickHouse, so that a click that leaves the queue in between is found by the read that follows.
      const oldestMs =
        leftMs > 0 ? undefined : await orNotRecorded('age of the queue', producer.oldestQueuedMs('click'));
      const row = (await findQueued(key)) ?? (await orNotRecorded('click look-up', loadClick(key)));
      if (row !== undefined) return row;
      if (leftMs <= 0) {
        const mayBeQueued = oldestMs !== undefined && oldestMs <= key.timeMs + QUEUED_WITHIN_MS;
        if (mayBeQueued) throw notRecorded('the click may still be queued');
        return undefined;
      }
      await delay(Math.min(delayMs, leftMs));
    }
  }

  /** @throws ApiError 500 when the click is missing and no complete replica of each shard has answered */
  async function findOnReplicas(key: ClickKey): Promise<EventRow | undefined> {
    const read = () => orNotRecorded('click look-up on all replicas', loadFromReplicas(key));
    // Usually one of the replicas has it, whether the others are behind or not.
    let found = await read();
    if (found?.rows.has(key.clickId) === false) {
      const isComplete = await orNotRecorded(
        'look-up of complete replicas',
        findComplete?.() ?? Promise.resolve(undefined),
      );
      if (isComplete !== undefined) found = await read();
      const isCertain = found !== undefined && (found.rows.has(key.clickId) || isComplete?.(found.servers) === true);
      if (!isCertain) throw notRecorded('the click may be on a replica that is behind or away');
    }
    const row = found?.rows.get(key.clickId);
    return row === undefined ? undefined : clickRowOf([...row]);
  }

  /**
   * The row of the click that has this id itself, not as an alias.
   *
   * @param isImported the id is that of an imported click, which may have been stored a moment ago whatever its age
   */
  async function findOwn(workspaceNumber: string, clickId: string, isImported: boolean): Promise<EventRow | undefined> {
    const timeMs = trustedEventIdTime(clickId, now());
    if (timeMs === undefined) return undefined;
    const key = { workspaceNumber, timeMs, clickId };
    const row = freshClicks.find(workspaceNumber, clickId) ?? (await waitFor(key));
    if (row !== undefined || cluster === undefined) return row;
    // Others would cost statements on all servers for every id that does not exist, such as those of old cookies.
    return isImported || now() - timeMs < LAG_MS ? findOnReplicas(key) : undefined;
  }

  /** The row of the click that has this id, as its own or as an alias. */
  async function findEither(workspaceId: string, workspaceNumber: string, clickId: string) {
    const row = await findOwn(workspaceNumber, clickId, false);
    if (row !== undefined) return row;
    const ownId = await aliases.find(workspaceId, clickId);
    return ownId === undefined ? undefined : findOwn(workspaceNumber, ownId, true);
  }

  return {
    async find(workspaceId, clickId, isHeld = false) {
      const workspaceNumber = parseResourceId('workspace', workspaceId);
      if (workspaceNumber === undefined) throw notFound(clickId);
      const cacheKey = `${workspaceNumber}/${clickId}`;
      const cached = rowCache.get(cacheKey);
      if (cached !== undefined) return withoutErased(cached, workspaceNumber, isHeld);
      const row = await withTimeout(findEither(workspaceId, workspaceNumber, clickId), deadlineMs, () => {
        throw notRecorded('click look-up took too long');
      });
      if (row === undefined) throw notFound(clickId);
      rowCache.set(cacheKey, row);
      return withoutErased(row, workspaceNumber, isHeld);
    },
  };
}
