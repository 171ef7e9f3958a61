import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseClient } from '../client.js';
import { isQuorumBusy } from '../rows/replicated.js';
import { readSettings, writeSettings } from './bookkeeping.js';
import type { RenderTarget } from './render.js';

const LEASE_SECONDS = 10;
const RENEW_MS = 3_000;
const RETRY_MS = 250;
/** How often a row is written again while other runners write theirs. */
const WRITES_MAX = 20;

/** Whether a row that was sent at that time, by the clock of `performance.now()`, has not expired. */
const isFresh = (askedMs: number) => performance.now() - askedMs < LEASE_SECONDS * 1000;

/** The right to change the schema of a database. It ends when its holder releases it, or ten seconds after its last renewal. */
export interface SchemaLease {
  /** @throws Error once ten seconds have passed without a renewal, also after a later one: another runner may have had the lease meanwhile */
  assertHeld(): void;
  release(): Promise<void>;
}

/**
 * Waits for the lease of a database. ClickHouse has no compare-and-set, so each runner first writes a row and then reads the table. If it
 * finds no other row that has not expired, it holds the lease; otherwise it withdraws its row and tries again. If two runners write at the
 * same time, at least one finds the row of the other, so they never both hold the lease. All times are the server's.
 */
export async function takeSchemaLease(client: ClickHouseClient, target: RenderTarget): Promise<SchemaLease> {
  const row = new LeaseRow(client, target);
  for (;;) {
    const askedMs = performance.now();
    await row.write(LEASE_SECONDS);
    if (!(await row.hasRival()) && isFresh(askedMs)) return keepRenewed(row, askedMs);
    await row.write(0);
    // Random, so that two runners do not try at the same time again.
    await delay(RETRY_MS * (1 + Math.random()));
  }
}

/**
 * Waits for the lease of a database as {@link takeSchemaLease} does, but keeps its row meanwhile: the other runners withdraw theirs, so this
 * one has the next turn, even if another runner releases the lease and takes it again at once. Only one process at a time may wait so: of two,
 * neither would get the lease.
 *
 * @returns undefined when the time has passed or the signal is aborted
 */
export async function takeSchemaLeaseInTurn(
  client: ClickHouseClient,
  target: RenderTarget,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<SchemaLease | undefined> {
  const row = new LeaseRow(client, target);
  const endMs = performance.now() + waitMs;
  let askedMs = Number.NEGATIVE_INFINITY;
  for (;;) {
    if (performance.now() - askedMs >= RENEW_MS) {
      askedMs = performance.now();
      await row.write(LEASE_SECONDS);
    }
    if (!(await row.hasRival()) && isFresh(askedMs)) return keepRenewed(row, askedMs);
    if (signal.aborted || performance.now() >= endMs) {
      await row.write(0);
      return undefined;
    }
    await delay(RETRY_MS);
  }
}

/** @param takenMs when the row was sent, by the clock of `performance.now()` */
function keepRenewed(row: LeaseRow, takenMs: number): SchemaLease {
  /** The error of the last renewal that failed. */
  let failure: unknown;
  /** When the last renewal that has succeeded was sent. */
  let renewedMs = takenMs;
  let renewal: Promise<void> = Promise.resolve();
  /** Once lost, it stays lost: no renewal counts any more. */
  const isLost = () => !isFresh(renewedMs);
  const renew = async () => {
    // A process that was suspended must not renew what another runner may have taken meanwhile.
    if (isLost()) return;
    const askedMs = performance.now();
    await row.write(LEASE_SECONDS);
    // Answers may come in another order than requests.
    if (!isLost()) renewedMs = Math.max(renewedMs, askedMs);
  };
  const timer = setInterval(() => {
    renewal = renew().catch((err: unknown) => {
      failure = err;
    });
  }, RENEW_MS);
  timer.unref();
  return {
    assertHeld() {
      if (isLost()) throw new Error('the lease on the schema could not be renewed', { cause: failure });
    },
    async release() {
      clearInterval(timer);
      await renewal;
      // Otherwise it expires.
      await row.write(0).catch(() => undefined);
    },
  };
}

/** The row of one runner in `schema_migration_leases`. */
class LeaseRow {
  readonly #client: ClickHouseClient;
  readonly #target: RenderTarget;
  readonly #owner = randomUUID();
  #version = 0;

  constructor(client: ClickHouseClient, target: RenderTarget) {
    this.#client = client;
    this.#target = target;
  }

  /** Writes the row so that it expires `seconds` from now; 0 withdraws it. */
  async write(seconds: number): Promise<void> {
    this.#version += 1;
    const version = this.#version;
    for (let tries = 1; ; tries++) {
      try {
        await this.#client.command({
          query:
            'INSERT INTO schema_migration_leases SELECT {owner:String}, now64(3) + toIntervalSecond({seconds:UInt32}), {version:UInt64}',
          query_params: { owner: this.#owner, seconds, version },
          clickhouse_settings: writeSettings(this.#target),
        });
        return;
      } catch (err) {
        if (tries === WRITES_MAX || !isQuorumBusy(err)) throw err;
        await delay((RETRY_MS / 2) * (1 + Math.random()));
      }
    }
  }

  /** Whether another runner has a row that has not expired, or writes one just now. */
  async hasRival(): Promise<boolean> {
    try {
      const rivals = await this.#client.rows<[owner: string]>({
        query:
          'SELECT owner FROM schema_migration_leases FINAL WHERE owner != {owner:String} AND expires_at > now64(3) LIMIT 1',
        parameters: { owner: this.#owner },
        settings: readSettings(this.#target),
      });
      return rivals.length > 0;
    } catch (err) {
      if (!isQuorumBusy(err)) throw err;
      return true;
    }
  }
}
