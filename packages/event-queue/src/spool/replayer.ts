import { hasElapsed } from '@waymark/contract';
import { z } from 'zod';
import { REPLAY_CLICKS } from '../claims/claim-scripts.js';
import { addPositions, positionsOf, type QueuedClick } from '../producer/queued-clicks.js';
import type { JobAdder, JobDraft, Transaction } from '../queue/job-adder.js';
import { jobIdTime, restoredRowsJobId } from '../queue/job-id.js';
import { joinRows, splitRows } from '../queue/job-rows.js';
import { claimKey, jobKey } from '../queue/keys.js';
import { isOutOfMemory } from '../redis/connection.js';
import { pause, withinMs } from '../redis/deadline.js';
import type { RedisHealth } from '../redis/redis-health.js';
import { type QueueLogger, throttled } from '../redis/throttled-log.js';
import { BATCH_MARKER_MS, markerKey } from './batch-markers.js';
import type { SpoolEntry } from './frame.js';
import type { Spool } from './spool.js';

export interface SpoolReplayerOptions {
  readonly spool: Spool;
  readonly adder: JobAdder;
  readonly health: RedisHealth;
  readonly logger: QueueLogger;
  readonly now: () => number;
  /** How often to try while there are entries to replay, or Redis does not answer. */
  readonly intervalMs: number;
  /** How often to check for files of dead processes while this process has no entries. An entry ends this wait. */
  readonly takeOverIntervalMs: number;
}

export interface SpoolReplayer {
  /** Waits up to three seconds for a replay in progress and a last one. Entries that are left stay in their files. */
  close(): Promise<void>;
}

const LAST_REPLAY_MS = 3000;
const LOG_INTERVAL_MS = 5000;

/** Once Redis had no room, the replay resumes below this share of its memory, so that it sends more than a few entries at a time. */
const RESUME_BELOW = 0.8;
/** After this time it resumes below the mark from which clicks are spooled: what Redis keeps may take the memory between the two. */
const RESUME_AFTER_MS = 5_000;

/** Redis is unavailable or nearly full; the replay stops and is tried again later. */
class NoRoomError extends Error {}

/** Adds the REPLAY_CLICKS script to the transaction, with the claims that have not expired. */
function addClaims(multi: Transaction, entries: readonly SpoolEntry[], now: number): void {
  const claims = entries
    .filter(({ claimsUntil }) => claimsUntil > now)
    .flatMap((entry) => entry.claims.map((claim) => ({ ...claim, leftMs: entry.claimsUntil - now })));
  const entryKeys = entries.flatMap(({ marker, kind, jobId }) => [markerKey(marker), jobKey(kind, jobId)]);
  const keys = [...claims.map(({ name }) => claimKey(name)), ...entryKeys];
  multi.eval(
    REPLAY_CLICKS,
    keys.length,
    ...keys,
    claims.length,
    entries.length,
    BATCH_MARKER_MS,
    ...claims.flatMap(({ value, leftMs }) => [value, leftMs]),
    ...entries.map(({ marker }) => marker.bit),
  );
}

/** After this time the first leads of a click have arrived, so that no process needs to find its row in the queue any more. */
const FINDABLE_MS = 60_000;

/** Where the rows of an entry's clicks are, if a lead may follow them now. The spool does not record which clicks are findable. */
function queuedClicksOf({ jobId, rows, claims }: SpoolEntry, now: number): QueuedClick[] {
  const texts = splitRows(rows);
  if (now - (jobIdTime(jobId) ?? 0) > FINDABLE_MS || texts.length !== claims.length) return [];
  return positionsOf(
    claims.map(({ value }, index) => ({ clickId: value, rowText: texts[index] ?? '', isFindable: true })),
  );
}

const discardedRowsSchema = z.array(
  z.string().transform((text) => (text === '' ? [] : z.array(z.int()).parse(JSON.parse(text)))),
);

/**
 * Jobs with the rows that the entries' own transactions had discarded as counted before. Their callers have the answer that these
 * clicks are recorded, because the transaction's answer came too late.
 */
function restoredJobs(entries: readonly SpoolEntry[], answer: unknown): JobDraft[] {
  const discarded = discardedRowsSchema.parse(answer);
  return entries.flatMap((entry, index) => {
    const rows = splitRows(entry.rows);
    const restored = (discarded[index] ?? []).flatMap((row) => rows[row] ?? []);
    if (restored.length === 0) return [];
    const { kind, version } = entry;
    return {
      kind,
      version,
      jobId: restoredRowsJobId(entry.jobId),
      rowCount: restored.length,
      rows: joinRows(restored),
    };
  });
}

/** Moves spooled jobs into the queue whenever Redis answers and has memory left. */
export function createSpoolReplayer(options: SpoolReplayerOptions): SpoolReplayer {
  const { spool, adder, health, logger, now } = options;
  const warn = throttled((context, message) => logger.warn(context, message), LOG_INTERVAL_MS);
  const closing = new AbortController();
  let lookedForOrphansMs = Number.NEGATIVE_INFINITY;

  /** When Redis last had no room; undefined once the replay has resumed. */
  let fullAtMs: number | undefined;
  const hasRoom = (): boolean => {
    if (health.load() === 'spool-clicks') {
      fullAtMs = now();
      return false;
    }
    if (fullAtMs === undefined) return true;
    if (health.memoryShare() >= RESUME_BELOW && !hasElapsed(fullAtMs, RESUME_AFTER_MS, now())) return false;
    fullAtMs = undefined;
    return true;
  };

  /** Adds jobs in one transaction and returns the reply to its last command. */
  const add = async (jobs: readonly JobDraft[], addMore?: (multi: Transaction) => void): Promise<unknown> => {
    const multi = await adder.transaction();
    await Promise.all(jobs.map((job) => adder.add(multi, job)));
    addMore?.(multi);
    return (await adder.run(multi)).at(-1);
  };

  const send = async (entries: readonly SpoolEntry[]) => {
    // A chunk is up to a megabyte: the regular poll would detect a full Redis too late.
    await health.refresh();
    if (!health.isAnswering() || !hasRoom()) throw new NoRoomError();
    const answer = await add(entries, (multi) => {
      for (const entry of entries) addPositions(multi, entry.jobId, queuedClicksOf(entry, now()));
      addClaims(multi, entries, now());
    });
    const restored = restoredJobs(entries, answer);
    if (restored.length > 0) await add(restored);
  };

  const replayOnce = async () => {
    const isTakeOverDue = performance.now() - lookedForOrphansMs >= options.takeOverIntervalMs;
    if (!health.isAnswering()) return;
    if (spool.hasEntries() ? !hasRoom() : !isTakeOverDue) return;
    lookedForOrphansMs = performance.now();
    try {
      await spool.replay(send);
    } catch (err) {
      if (isOutOfMemory(err)) health.reportFull();
      else if (!(err instanceof NoRoomError)) warn({ err }, 'replaying the spool failed; it is retried');
    }
  };

  const running = (async () => {
    while (!closing.signal.aborted) {
      await replayOnce();
      const isAtRest = health.isAnswering() && !spool.hasEntries();
      if (isAtRest) await spool.waitForEntries(options.takeOverIntervalMs, closing.signal);
      else await pause(options.intervalMs, closing.signal);
    }
  })();

  return {
    async close() {
      closing.abort();
      // One last attempt, so that entries do not wait until this process is started again.
      const last = running.then(() => {
        fullAtMs = undefined;
        return replayOnce();
      });
      await withinMs(last, LAST_REPLAY_MS, 'the last replay').catch(() => undefined);
    },
  };
}
