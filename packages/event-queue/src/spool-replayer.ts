import { SPOOLED_CLICKS } from './claim-scripts.js';
import { CLICK_MARKER_MS, markerKey } from './click-markers.js';
import { pause, withinMs } from './deadline.js';
import type { JobAdder, Transaction } from './job-adder.js';
import { claimKey } from './queue-keys.js';
import type { QueueLogger } from './queue-logger.js';
import { isOutOfMemory } from './redis-connection.js';
import type { RedisHealth } from './redis-health.js';
import type { Spool } from './spool.js';
import type { SpoolEntry } from './spool-frame.js';

export interface SpoolReplayerOptions {
  readonly spool: Spool;
  readonly adder: JobAdder;
  readonly health: RedisHealth;
  readonly logger: QueueLogger;
  readonly now: () => number;
  /** How often to look for something to replay. */
  readonly intervalMs: number;
  /** How often to look for files of dead processes when this one has nothing of its own. */
  readonly adoptionIntervalMs: number;
}

const LAST_REPLAY_MS = 3000;

/** Redis has no room for the spool at the moment. */
class NoRoomError extends Error {}

/** Claims whose hour is not over yet are set, and made final, together with their jobs. */
function addClaims(multi: Transaction, entries: readonly SpoolEntry[], now: number): void {
  const current = entries.filter(({ claimsUntil }) => claimsUntil > now);
  if (current.length === 0) return;
  const claims = current.flatMap((entry) =>
    entry.claims.map((claim) => ({ ...claim, leftMs: entry.claimsUntil - now })),
  );
  const keys = [...claims.map(({ name }) => claimKey(name)), ...current.map(({ marker }) => markerKey(marker))];
  multi.eval(
    SPOOLED_CLICKS,
    keys.length,
    ...keys,
    claims.length,
    current.length,
    CLICK_MARKER_MS,
    ...claims.flatMap(({ value, leftMs }) => [value, leftMs]),
    ...current.map(({ marker }) => marker.bit),
  );
}

/** Puts spooled jobs into the queue whenever Redis can take them. */
export function createSpoolReplayer(options: SpoolReplayerOptions): { close(): Promise<void> } {
  const { spool, adder, health, logger, now } = options;
  const closing = new AbortController();
  let lookedForOrphansAt = Number.NEGATIVE_INFINITY;

  const send = async (entries: readonly SpoolEntry[]) => {
    // A chunk is up to a megabyte: the regular poll would notice too late that Redis is full.
    await health.refresh();
    if (!health.isAnswering() || health.load() === 'spool-clicks') throw new NoRoomError();
    const multi = await adder.transaction();
    await Promise.all(entries.map((entry) => adder.add(multi, entry)));
    addClaims(multi, entries, now());
    const results = await multi.exec();
    const failed = results?.find(([err]) => err !== null)?.[0];
    if (failed !== undefined && failed !== null) {
      await adder.loadScripts();
      throw failed;
    }
  };

  const replayOnce = async () => {
    const isAdoptionDue = now() - lookedForOrphansAt >= options.adoptionIntervalMs;
    if (!health.isAnswering() || health.load() === 'spool-clicks') return;
    if (!spool.hasEntries() && !isAdoptionDue) return;
    lookedForOrphansAt = now();
    try {
      await spool.replay(send);
    } catch (err) {
      if (isOutOfMemory(err)) health.reportFull();
      else if (!(err instanceof NoRoomError)) logger.warn({ err }, 'the spool will be replayed later');
    }
  };

  const running = (async () => {
    while (!closing.signal.aborted) {
      await replayOnce();
      await pause(options.intervalMs, closing.signal);
    }
  })();

  return {
    async close() {
      closing.abort();
      await running;
      // What can still go now need not wait for this process to be started again.
      await withinMs(replayOnce(), LAST_REPLAY_MS, 'the last replay').catch(() => undefined);
    },
  };
}
