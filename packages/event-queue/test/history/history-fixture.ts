import { aLead } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { type ClaimHistory, createClaimHistory } from '../../src/history/claim-history.js';
import {
  type CommitRequest,
  createHistoryKeeper,
  customerClaim,
  type HistorySource,
  historyKey,
} from '../../src/index.js';
import { watchServerIdentity } from '../../src/redis/server-identity.js';
import { silentLogger } from '../silent-logger.js';

export const WORKSPACE = 'ws_1';
export const HISTORY = historyKey('customers', WORKSPACE);
export const GRACE_MS = 60_000;

export const claimOf = (customer: string) => customerClaim(WORKSPACE, customer);

/** The commit of a new customer, whose row the queue holds; `row` is its name. */
export function aCustomerCommit(customer: string, mustBeUnseen: boolean): CommitRequest {
  return {
    rows: [
      { kind: 'customer', row: [customer] },
      { kind: 'lead', row: aLead() },
    ],
    finals: [{ name: claimOf(customer), owner: undefined, mustBeUnseen, value: customer, ttlMs: 3_600_000 }],
  };
}

/** A connection of its own that works on the history of the workspace's customers. */
export async function openHistory(url: string): Promise<{ readonly redis: Redis; readonly history: ClaimHistory }> {
  const redis = new Redis(url, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  const server = watchServerIdentity(redis);
  while (server.current() === '') await redis.ping();
  return { redis, history: createClaimHistory(redis, server, 'customers', WORKSPACE) };
}

export interface TestKeeper {
  readonly keeper: ReturnType<typeof createHistoryKeeper>;
  /** Ends it as a kill does: without giving back its lease. */
  kill(): Promise<void>;
}

/** A keeper with a connection of its own, whose customers come from `source` and whose clock is `now`. */
export async function aKeeper(url: string, source: HistorySource, now: () => number): Promise<TestKeeper> {
  const { redis } = await openHistory(url);
  const none: HistorySource = { count: async () => 0, async *read() {} };
  const sources = { customers: source, sales: none };
  const keeper = createHistoryKeeper({ redis, sources, logger: silentLogger, now, graceMs: GRACE_MS, pollMs: 5 });
  return {
    keeper,
    async kill() {
      redis.disconnect();
      await keeper.close();
    },
  };
}
