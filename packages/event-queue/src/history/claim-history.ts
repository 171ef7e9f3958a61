import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { ServerIdentity } from '../redis/server-identity.js';
import { fillerKey, type HistorySubject, historyKey, historyPlace } from './history-keys.js';
import {
  BEGIN_FILLING,
  COMPLETE_HISTORY,
  FILL_HISTORY,
  HEADER_BYTES,
  SET_SEEN,
  STATE_OF_HISTORY,
  STOP_FILLING,
} from './history-scripts.js';
import { KEEPER_STARTS_KEY, START_COUNTS_KEY } from './keepers.js';

/** A history that is not used expires; what it answers is then asked in ClickHouse. */
const HISTORY_TTL_MS = 7 * 24 * 3_600_000;
/** TTL of the lease of a filler: how long the history of a killed one stays unfinished. Extended while it works and waits. */
const FILLER_LEASE_MS = 30_000;
const CLAIMS_AT_ONCE = 500;
/** Part of the bits that is counted to estimate how full a history is. */
const SAMPLED_BYTES = 65_536;

/**
 * Sets claims in the histories that exist. Call it before something becomes visible in ClickHouse that does not go through a commit,
 * such as the row of a customer's name.
 *
 * @throws the error of Redis: then the row must not be written
 */
export async function setSeen(redis: Redis, claimNames: readonly string[]): Promise<void> {
  for (let start = 0; start < claimNames.length; start += CLAIMS_AT_ONCE) {
    const places = claimNames.slice(start, start + CLAIMS_AT_ONCE).flatMap((name) => historyPlace(name) ?? []);
    const keys = [...new Set(places.map(({ key }) => key))];
    if (keys.length === 0) continue;
    const args = places.flatMap(({ key, positions }) => [keys.indexOf(key) + 1, ...positions]);
    await redis.eval(SET_SEEN, keys.length, ...keys, ...args);
  }
}

/** What is to be done about a history: nothing if it is `trusted`, or if another process fills it. */
export interface HistoryState {
  readonly state: 'trusted' | 'filling' | 'missing';
  /** Size in bits; 0 if there is none. */
  readonly bits: number;
}

/** A history that this process fills. Each method returns false when it no longer does: the key or the lease was lost. */
export interface Filling {
  /** When the history was created, by the clock of Redis, epoch milliseconds. Later commits set their claims themselves. */
  readonly begunAt: number;
  /** Sets claims, and extends the lease; without claims it only extends the lease. */
  add(claimNames: readonly string[]): Promise<boolean>;
  complete(): Promise<boolean>;
  stop(): Promise<void>;
}

/** The history of one subject of a workspace. */
export interface ClaimHistory {
  state(): Promise<HistoryState>;
  /** Share of the bits that are set, 0 to 1, estimated from a part of them. At 0.5 one in sixteen unseen claims looks seen. */
  fullness(bits: number): Promise<number>;
  /** Undefined if another process fills it, has filled it, or the identity of the server is not known. */
  begin(bits: number): Promise<Filling | undefined>;
}

const wasDone = (answer: unknown) => answer === 1;

export function createClaimHistory(
  redis: Redis,
  server: ServerIdentity,
  subject: HistorySubject,
  workspaceId: string,
): ClaimHistory {
  const key = historyKey(subject, workspaceId);
  const filler = fillerKey(subject, workspaceId);
  const keys = [key, filler, START_COUNTS_KEY, KEEPER_STARTS_KEY];

  function fillingOf(token: string, begunAt: number): Filling {
    const fill = async (claimNames: readonly string[]) => {
      const positions = claimNames.flatMap((name) => historyPlace(name)?.positions ?? []);
      return wasDone(await redis.eval(FILL_HISTORY, 2, key, filler, token, FILLER_LEASE_MS, ...positions));
    };
    return {
      begunAt,
      async add(claimNames) {
        if (claimNames.length === 0) return fill([]);
        for (let start = 0; start < claimNames.length; start += CLAIMS_AT_ONCE) {
          if (!(await fill(claimNames.slice(start, start + CLAIMS_AT_ONCE)))) return false;
        }
        return true;
      },
      complete: async () => wasDone(await redis.eval(COMPLETE_HISTORY, keys.length, ...keys, token, server.current())),
      stop: async () => void (await redis.eval(STOP_FILLING, 1, filler, token)),
    };
  }

  return {
    async state() {
      const answer = await redis.eval(STATE_OF_HISTORY, keys.length, ...keys, server.current(), HISTORY_TTL_MS);
      const [state, bits] = answer as [HistoryState['state'], number];
      return { state, bits };
    },

    async fullness(bits) {
      const bytes = Math.min(SAMPLED_BYTES, bits / 8);
      const set = await redis.bitcount(key, HEADER_BYTES, HEADER_BYTES + bytes - 1);
      return set / (bytes * 8);
    },

    async begin(bits) {
      const identity = server.current();
      if (identity === '') return undefined;
      const token = randomUUID();
      const args = [identity, token, FILLER_LEASE_MS, bits, HISTORY_TTL_MS];
      const begunAt = Number(await redis.eval(BEGIN_FILLING, keys.length, ...keys, ...args));
      return begunAt === 0 ? undefined : fillingOf(token, begunAt);
    },
  };
}
