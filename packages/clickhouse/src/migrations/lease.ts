import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseClient } from '../client.js';
import { readSettings, writeSettings } from './bookkeeping.js';
import type { RenderTarget } from './render.js';

const LEASE_SECONDS = 10;
const RENEW_MS = 3_000;
const RETRY_MS = 250;

/** The right to change the schema. It ends when released, or by itself soon after its holder died. */
export interface Lease {
  /** Throws when the lease could not be kept. */
  assertHeld(): void;
  release(): Promise<void>;
}

/**
 * Waits for the lease of a database. ClickHouse has no compare-and-set, so everybody first writes a row and then reads: who
 * sees no other live row holds the lease, who sees one withdraws and tries again. Of two that write at the same time at
 * least one sees the other, so never two hold it. Times are the server's alone.
 */
export async function takeLease(client: ClickHouseClient, target: RenderTarget): Promise<Lease> {
  const claim = new Claim(client, target);
  for (;;) {
    await claim.write(LEASE_SECONDS);
    if (!(await claim.hasRival())) return keep(claim);
    await claim.write(0);
    // Random, or two that met would meet again.
    await delay(RETRY_MS * (1 + Math.random()));
  }
}

function keep(claim: Claim): Lease {
  let failure: unknown;
  let renewal: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    renewal = claim.write(LEASE_SECONDS).catch((err: unknown) => {
      failure ??= err;
    });
  }, RENEW_MS);
  timer.unref();
  return {
    assertHeld() {
      if (failure !== undefined) throw new Error('the lease on the schema could not be renewed', { cause: failure });
    },
    async release() {
      clearInterval(timer);
      await renewal;
      await claim.write(0);
    },
  };
}

class Claim {
  readonly #client: ClickHouseClient;
  readonly #target: RenderTarget;
  readonly #owner = randomUUID();
  #version = 0;

  constructor(client: ClickHouseClient, target: RenderTarget) {
    this.#client = client;
    this.#target = target;
  }

  /** Claims the lease for some seconds from now; 0 withdraws. */
  async write(seconds: number): Promise<void> {
    this.#version += 1;
    await this.#client.command({
      query:
        'INSERT INTO schema_migration_leases SELECT {owner:String}, now64(3) + toIntervalSecond({seconds:UInt32}), {version:UInt64}',
      query_params: { owner: this.#owner, seconds, version: this.#version },
      clickhouse_settings: writeSettings(this.#target),
    });
  }

  async hasRival(): Promise<boolean> {
    const result = await this.#client.query({
      query:
        'SELECT owner FROM schema_migration_leases FINAL WHERE owner != {owner:String} AND expires_at > now64(3) LIMIT 1',
      query_params: { owner: this.#owner },
      format: 'JSONEachRow',
      clickhouse_settings: readSettings(this.#target),
    });
    return (await result.json()).length > 0;
  }
}
