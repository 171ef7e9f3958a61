import type { ClickHouseClient } from '@waymark/clickhouse';
import { chunksOf } from '@waymark/contract';
import { EVENT_ROW_VERSION, EVENT_TABLES, type EventRow } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import type { Retry } from '../writer/retry.js';
import { createBatchClaims, RENEW_MS } from './batch-claims.js';
import type { PendingBatch } from './history-state.js';

type HeldClaim = PendingBatch['claims'][number];
interface ClaimsOfBatch {
  readonly id: string;
  readonly claims: readonly HeldClaim[];
}

/** How long replicas of ClickHouse may lack a sale that is stored. For this long requests are answered from its claims. */
const LAG_MS = 10 * 60_000;
const SALE: readonly string[] = EVENT_TABLES.sale.columns[EVENT_ROW_VERSION];
const [ID, INVOICE, CUSTOMER, LINK] = ['event_id', 'invoice_id', 'customer_id', 'link_id'].map((name) =>
  SALE.indexOf(name),
) as [number, number, number, number];

/**
 * Sales whose invoices and customers are looked up at once: they are sent in the URL of a statement, of at most a megabyte, and an invoice may
 * have 255 characters of nine bytes.
 */
const SALES_PER_READ = 400;

/** Claims of the batch that is being stored have expired, and other events have taken them: the batch must not be stored as it is. */
export class LostClaimsError extends Error {
  override readonly name = 'LostClaimsError';
}

export interface PastClaimsOptions {
  /** The Redis of the workspace's queue shard, which has its claims. */
  readonly shard: Redis;
  readonly waitReplicas: number;
  readonly clickhouse: ClickHouseClient;
  readonly cluster: string | undefined;
  /** `UInt64` as text. */
  readonly workspaceNumber: string;
  readonly retry: Retry;
}

/**
 * The claims of the batch that is being stored. They stay pending until it is stored, so that no request of `/track` is answered with an
 * event that a killed import has not stored.
 */
export function createPastClaims(options: PastClaimsOptions) {
  const { shard, waitReplicas, clickhouse, cluster, workspaceNumber, retry } = options;
  const claims = createBatchClaims(shard, waitReplicas);
  const ownerOf = ({ id }: ClaimsOfBatch) => `past ${id}`;
  let renewing: Promise<void> | undefined;
  let held: { readonly names: readonly string[]; readonly owner: string; readonly atMs: number } | undefined;

  async function hold(batch: ClaimsOfBatch, some: readonly HeldClaim[]): Promise<HeldClaim[]> {
    const names = some.map(({ name }) => name);
    const others = await retry('taking claims', () => claims.hold(names, ownerOf(batch)));
    return some.filter(({ name }) => others.has(name));
  }

  async function renewHeld({ names, owner }: NonNullable<typeof held>): Promise<void> {
    const atMs = performance.now();
    const others = await claims.hold(names, owner);
    if (others.size > 0)
      throw new LostClaimsError('claims of this import have expired: repeat the import, which then continues');
    if (held?.owner === owner) held = { names, owner, atMs };
  }

  /** Stored sales with an invoice or a customer of the given ones: id, invoice, customer, link. */
  function salesLike(sales: readonly EventRow[]) {
    const texts = (column: number) => [...new Set(sales.map((row) => String(row[column])))];
    return clickhouse.rows<[string, string, string, string]>({
      query: `SELECT event_id, invoice_id, toString(customer_id), toString(link_id) FROM sale_events
WHERE workspace_id = {workspace:UInt64}
  AND (invoice_id IN {invoices:Array(String)} OR customer_id IN {customers:Array(UInt64)})`,
      parameters: {
        workspace: workspaceNumber,
        customers: texts(CUSTOMER).map(BigInt),
        invoices: texts(INVOICE).filter((invoice) => invoice !== ''),
      },
      settings: { optimize_use_projections: 0 },
    });
  }

  return {
    /** Takes the claims of a batch, and waits while requests hold them. @returns the claims that other events have */
    async hold(batch: ClaimsOfBatch): Promise<HeldClaim[]> {
      const atMs = performance.now();
      const of = (ifTaken: HeldClaim['ifTaken']) => batch.claims.filter((claim) => claim.ifTaken === ifTaken);
      // In the order in which `/track/sale` takes them.
      const others = new Set([...(await hold(batch, of('drop'))), ...(await hold(batch, of('recurring')))]);
      const names = batch.claims.filter((claim) => !others.has(claim)).map(({ name }) => name);
      held = { names, owner: ownerOf(batch), atMs };
      return [...others];
    },

    /**
     * Renews the claims of the batch if they were last renewed eight seconds ago or more. Call it every few seconds.
     *
     * @throws LostClaimsError; Error when Redis does not answer
     */
    async renew(): Promise<void> {
      if (held === undefined || performance.now() - held.atMs < RENEW_MS) return;
      renewing ??= renewHeld(held).finally(() => {
        renewing = undefined;
      });
      await renewing;
    },

    /**
     * The claims of a batch that stored events have, although Redis shows it no more: claims of events that `/track` recorded while the
     * import did not run may have expired. Reads ClickHouse.
     */
    async ofStoredEvents({ parts, claims: taken }: PendingBatch): Promise<HeldClaim[]> {
      const ids = new Set(taken.map(({ eventId }) => eventId));
      const sales = parts
        .flatMap(({ kind, rows }) => (kind === 'sale' ? rows.map((text): EventRow => JSON.parse(text)) : []))
        .filter((row) => ids.has(String(row[ID])));
      const rowOf = new Map(sales.map((row) => [String(row[ID]), row]));
      const [invoices, buyers] = [new Set<string>(), new Set<string>()];
      for (const some of chunksOf(sales, SALES_PER_READ)) {
        for (const [id, invoice, customer, link] of await retry('finding sales', () => salesLike(some))) {
          if (rowOf.has(id)) continue;
          invoices.add(invoice);
          buyers.add(`${customer}/${link}`);
        }
      }
      return taken.filter(({ eventId, ifTaken }) => {
        const row = rowOf.get(eventId);
        if (row === undefined) return false;
        return ifTaken === 'drop' ? invoices.has(String(row[INVOICE])) : buyers.has(`${row[CUSTOMER]}/${row[LINK]}`);
      });
    },

    /**
     * Ends the claims of a batch that is stored. On one node they are released. On a cluster they become final for a while.
     *
     * @param values final values by name; a claim without a value stays pending, and expires
     */
    async end(batch: ClaimsOfBatch, values: ReadonlyMap<string, string>): Promise<void> {
      held = undefined;
      // A renewal that is under way would take the ended claims again, or find them final and report them as lost.
      await renewing?.catch(() => undefined);
      const isLagging = cluster !== undefined;
      const ended = batch.claims.flatMap(({ name }) => {
        const value = values.get(name);
        return isLagging && value === undefined ? [] : [{ name, value: isLagging ? value : undefined }];
      });
      await retry('ending claims', () => claims.end(ended, ownerOf(batch), LAG_MS));
    },
  };
}
