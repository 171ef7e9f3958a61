import { setImmediate as immediate } from 'node:timers/promises';
import { type BloomFilter, createBloomFilter, createLru } from '@waymark/cache';
import { DIGEST_BYTES, keyDigest } from '@waymark/clickhouse';
import type { QueueKind } from '@waymark/event-format';
import { type EventProducer, FILTERS_BLOCKED_MS, type FilterMark } from '@waymark/event-queue';
import { LRUCache } from 'lru-cache';

/**
 * A Bloom filter of the keys of one workspace that ClickHouse had when they were read. Everything that was queued after that has a claim.
 */
export interface KeyFilter {
  /** True if ClickHouse certainly did not have the key. For about one in a hundred absent keys it is false all the same. */
  lacks(key: string): boolean;
  /** Pass it to a commit that relies on `lacks`, which is refused when the filter is not reliable any more. */
  readonly mark: FilterMark;
}

/**
 * Bloom filters of the keys that ClickHouse has, so that most new customers and sales are accepted without a read of ClickHouse. The
 * docstring of claims/filter-marks.ts in packages/event-queue shows why a key that a filter lacks is new.
 */
export interface StoredKeys {
  /**
   * The filter of a workspace; undefined while there is none. It is then loaded in the background, unless the workspace has had no event in the
   * last minute.
   */
  filterOf(workspaceId: string): KeyFilter | undefined;
  /** Call it when a commit with the filter's mark was refused. Drops the filter if the mark has changed. Never rejects. */
  recheck(workspaceId: string): Promise<void>;
}

export interface StoredKeysOptions {
  /** The queue of the events that store keys. */
  readonly kind: QueueKind;
  /** TTL of the claims of these events. */
  readonly claimMs: number;
  readonly producer: Pick<EventProducer, 'openFilterMark' | 'connectionsLost' | 'oldestQueuedMs'>;
  /** Digests of all keys of a workspace, see `readKeyDigests`; undefined = more than `keysMax`. */
  readonly read: (workspaceId: string, keysMax: number) => Promise<readonly Buffer[] | undefined>;
  readonly logger: { warn(context: object, message: string): void };
  readonly now: () => number;
}

interface LoadedFilter extends KeyFilter {
  readonly bytes: number;
  /** Epoch milliseconds. */
  readonly untilMs: number;
  /** The same end in the time of `performance.now()`, which is never set back. */
  readonly untilUptimeMs: number;
  readonly connectionsLost: number;
}

/** Memory of all filters of a kind. A million keys take 1.25 MB. */
const BYTES_MAX = 32_000_000;
const KEYS_MAX = 5_000_000;
/** A filter ends this long before the claims that it relies on: longer than a request, a difference of clocks or the lag of a replica. */
const MARGIN_MS = 600_000;
/**
 * No filter is loaded while any event has been queued for longer than this. Events that are queued without a claim block filters for even
 * longer, so they are stored when the next filter is loaded.
 */
const QUEUED_MS_MAX = FILTERS_BLOCKED_MS - 5_000;
/** Workspaces whose events are further apart need no filter. */
const EVENTS_WITHIN_MS = 60_000;
/** How long after a load that yielded no filter the next one is tried. */
const RETRY_MS = 30_000;
/** The same after a load that found too many keys. */
const RETRY_TOO_MANY_MS = 3_600_000;
const WORKSPACES_MAX = 10_000;

/** Creates the filters of one kind of key, for the workspaces of one queue shard. */
export function createStoredKeys(options: StoredKeysOptions): StoredKeys {
  const { kind, claimMs, producer, read, logger, now } = options;
  const lifetimeMs = claimMs - QUEUED_MS_MAX - MARGIN_MS;
  const filters = new LRUCache<string, LoadedFilter>({
    maxSize: BYTES_MAX,
    sizeCalculation: ({ bytes }) => bytes,
  });
  /** When a workspace had an event for which there was no filter, by `performance.now()`. */
  const lastEvents = createLru<string, number>(WORKSPACES_MAX);
  /** When the next load of a workspace's filter may begin, by `performance.now()`. */
  const nextFilterLoads = createLru<string, number>(WORKSPACES_MAX);

  async function filled(digests: readonly Buffer[]): Promise<BloomFilter> {
    const filter = createBloomFilter(digests.reduce((sum, { length }) => sum + length, 0) / DIGEST_BYTES);
    for (const some of digests) {
      for (let at = 0; at < some.length; at += DIGEST_BYTES) filter.add(some, at);
      // Lets the process serve redirects in between.
      await immediate();
    }
    return filter;
  }

  async function load(workspaceId: string): Promise<void> {
    const connectionsLost = producer.connectionsLost();
    const mark = await producer.openFilterMark(workspaceId);
    if (mark === undefined) return;
    const [startedMs, startedUptimeMs] = [now(), performance.now()];
    // Before the keys are read: what leaves the queue in between is among them.
    const oldestMs = await producer.oldestQueuedMs(kind);
    if (oldestMs !== undefined && oldestMs < startedMs - QUEUED_MS_MAX) return;
    const digests = await read(workspaceId, KEYS_MAX);
    if (digests === undefined) {
      nextFilterLoads.set(workspaceId, startedUptimeMs + RETRY_TOO_MANY_MS);
      return;
    }
    const filter = await filled(digests);
    filters.set(workspaceId, {
      lacks: (key) => !filter.mayHave(keyDigest(key)),
      mark,
      connectionsLost,
      bytes: filter.bytes,
      untilMs: startedMs + lifetimeMs,
      untilUptimeMs: startedUptimeMs + lifetimeMs,
    });
  }

  /** Begins to load a filter, unless the workspace has few events or a load was begun lately. */
  function loadSoon(workspaceId: string): void {
    const atMs = performance.now();
    const isFirst = atMs - (lastEvents.get(workspaceId) ?? Number.NEGATIVE_INFINITY) > EVENTS_WITHIN_MS;
    lastEvents.set(workspaceId, atMs);
    if (isFirst || atMs < (nextFilterLoads.get(workspaceId) ?? 0)) return;
    nextFilterLoads.set(workspaceId, atMs + RETRY_MS);
    load(workspaceId).catch((err: unknown) => {
      logger.warn(
        { err, kind, workspaceId },
        'stored keys could not be read; ClickHouse is queried for each event instead',
      );
    });
  }

  // By both clocks: the time of day may be set back, and the other one stands still while a machine sleeps.
  const isUsable = ({ untilMs, untilUptimeMs, connectionsLost }: LoadedFilter) =>
    now() < untilMs && performance.now() < untilUptimeMs && connectionsLost === producer.connectionsLost();

  return {
    filterOf(workspaceId) {
      const filter = filters.get(workspaceId);
      if (filter !== undefined && isUsable(filter)) return filter;
      filters.delete(workspaceId);
      loadSoon(workspaceId);
      return undefined;
    },

    async recheck(workspaceId) {
      const filter = filters.get(workspaceId);
      if (filter === undefined) return;
      try {
        const mark = await producer.openFilterMark(workspaceId);
        if (mark?.value === filter.mark.value) return;
      } catch {
        // Without Redis no commit can rely on it either.
      }
      if (filters.get(workspaceId) === filter) filters.delete(workspaceId);
    },
  };
}
