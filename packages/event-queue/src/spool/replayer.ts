import { z } from 'zod';
import { SPOOLED_CLICKS } from '../claims/claim-scripts.js';
import type { JobAdder, JobDraft, Transaction } from '../queue/job-adder.js';
import { struckJobId } from '../queue/job-id.js';
import { joinRows, splitRows } from '../queue/job-rows.js';
import { claimKey, jobKey } from '../queue/keys.js';
import { isOutOfMemory } from '../redis/connection.js';
import { pause, withinMs } from '../redis/deadline.js';
import type { RedisHealth } from '../redis/health.js';
import type { QueueLogger } from '../redis/throttled-log.js';
import { CLICK_MARKER_MS, markerKey } from './batch-markers.js';
import type { SpoolEntry } from './frame.js';
import type { Spool } from './spool.js';

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

/** Claims whose hour is not over yet are set together with the jobs. */
function addClaims(multi: Transaction, entries: readonly SpoolEntry[], now: number): void {
  const claims = entries
    .filter(({ claimsUntil }) => claimsUntil > now)
    .flatMap((entry) => entry.claims.map((claim) => ({ ...claim, leftMs: entry.claimsUntil - now })));
  const places = entries.flatMap(({ marker, kind, jobId }) => [markerKey(marker), jobKey(kind, jobId)]);
  const keys = [...claims.map(({ name }) => claimKey(name)), ...places];
  multi.eval(
    SPOOLED_CLICKS,
    keys.length,
    ...keys,
    claims.length,
    entries.length,
    CLICK_MARKER_MS,
    ...claims.flatMap(({ value, leftMs }) => [value, leftMs]),
    ...entries.map(({ marker }) => marker.bit),
  );
}

const struckSchema = z.array(
  z.string().transform((text) => (text === '' ? [] : z.array(z.int()).parse(JSON.parse(text)))),
);

/**
 * Jobs of the rows that an entry's own transaction had struck as counted before. Its answer came too late: the callers were
 * told that these clicks are recorded.
 */
function struckJobs(entries: readonly SpoolEntry[], answer: unknown): JobDraft[] {
  const struck = struckSchema.parse(answer);
  return entries.flatMap((entry, index) => {
    const rows = splitRows(entry.rows);
    const left = (struck[index] ?? []).flatMap((row) => rows[row] ?? []);
    if (left.length === 0) return [];
    const { kind, version } = entry;
    return { kind, version, jobId: struckJobId(entry.jobId), rowCount: left.length, rows: joinRows(left) };
  });
}

/** Puts spooled jobs into the queue whenever Redis can take them. */
export function createSpoolReplayer(options: SpoolReplayerOptions): { close(): Promise<void> } {
  const { spool, adder, health, logger, now } = options;
  const closing = new AbortController();
  let lookedForOrphansAt = Number.NEGATIVE_INFINITY;

  /** Adds jobs in one transaction. Answers what its last command did. */
  const add = async (jobs: readonly JobDraft[], addMore?: (multi: Transaction) => void): Promise<unknown> => {
    const multi = await adder.transaction();
    await Promise.all(jobs.map((job) => adder.add(multi, job)));
    addMore?.(multi);
    return (await adder.run(multi)).at(-1);
  };

  const send = async (entries: readonly SpoolEntry[]) => {
    // A chunk is up to a megabyte: the regular poll would notice too late that Redis is full.
    await health.refresh();
    if (!health.isAnswering() || health.load() === 'spool-clicks') throw new NoRoomError();
    const answer = await add(entries, (multi) => addClaims(multi, entries, now()));
    const left = struckJobs(entries, answer);
    if (left.length > 0) await add(left);
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
