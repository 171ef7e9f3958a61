import { createDataLoader, withTimeout } from '@waymark/cache';
import { type ClickHouseClient, readKeyDigests } from '@waymark/clickhouse';
import { formatResourceId, type PaymentProcessor, parseResourceId, type TrackSaleResponse } from '@waymark/contract';
import { notRecorded, orNotRecorded } from '../not-recorded.js';
import { readRows } from './read-rows.js';

type SaleDetails = NonNullable<TrackSaleResponse['sale']>;

/** The fields of a stored sale that are part of a response. */
export interface StoredSale {
  readonly eventName: string;
  readonly customerId: string;
  readonly linkId: string;
  readonly sale: SaleDetails;
}

/** Reads sales from ClickHouse, for claims that have expired in Redis. */
export interface SaleStore {
  findByInvoice(workspaceId: string, invoiceId: string): Promise<StoredSale | undefined>;
  hasSale(workspaceId: string, customerId: string, linkId: string): Promise<boolean>;
  /** Digests of {@link invoiceKey} and {@link buyerKey} of all sales of a workspace; undefined when there are more than `keysMax`. */
  keyDigests(workspaceId: string, keysMax: number): Promise<Buffer[] | undefined>;
}

/** The key of an invoice in filters of stored sales. */
export function invoiceKey(invoiceId: string): string {
  return `invoice/${invoiceId}`;
}

/** The key of all sales of a customer on a link in filters of stored sales. */
export function buyerKey(customerId: string, linkId: string): string {
  return `buyer/${parseResourceId('customer', customerId)}/${parseResourceId('link', linkId)}`;
}

const KEYS = `SELECT concat('invoice/', invoice_id) AS key FROM sale_events
WHERE workspace_id = {workspace:UInt64} AND invoice_id != ''
UNION ALL SELECT DISTINCT concat('buyer/', toString(customer_id), '/', toString(link_id)) FROM sale_events
WHERE workspace_id = {workspace:UInt64}`;

interface SalePayload {
  readonly sale: {
    readonly amount: number;
    readonly currency: string;
    readonly invoiceId: string | null;
    readonly paymentProcessor: PaymentProcessor;
  };
  readonly metadata: SaleDetails['metadata'];
}

/** The first sale of each invoice. */
const BY_INVOICE = `SELECT event_name, customer_id, payload, invoice_id, link_id FROM sale_events
WHERE workspace_id = {workspace:UInt64} AND invoice_id IN {invoices:Array(String)}
ORDER BY timestamp, event_id LIMIT 1 BY invoice_id`;

const OF_CUSTOMERS = `SELECT DISTINCT customer_id, link_id FROM sale_events
WHERE workspace_id = {workspace:UInt64} AND customer_id IN {customers:Array(UInt64)} AND link_id IN {links:Array(UInt64)}`;

const KEYS_PER_READ = 100;
const READS_MAX = 2;
/** How long a look-up takes at most. Includes the wait for reads of other workspaces. */
const DEADLINE_MS = 8000;

interface InvoiceKey {
  readonly workspace: string;
  readonly invoiceId: string;
}

/** A customer and a link of a workspace; `UInt64` numbers as text. */
interface BuyerKey {
  readonly workspace: string;
  readonly customer: string;
  readonly link: string;
}

function storedSale([
  eventName = '',
  customerNumber = '0',
  payload = '{}',
  ,
  linkNumber = '0',
]: readonly string[]): StoredSale {
  const { sale, metadata } = JSON.parse(payload) as SalePayload;
  const { amount, currency, paymentProcessor, invoiceId } = sale;
  return {
    eventName,
    customerId: formatResourceId('customer', customerNumber),
    linkId: formatResourceId('link', linkNumber),
    sale: { amount, currency, paymentProcessor, invoiceId, metadata },
  };
}

/** Concurrent look-ups share one read. */
export function createSaleStore(clickhouse: ClickHouseClient, deadlineMs = DEADLINE_MS): SaleStore {
  const common = {
    group: ({ workspace }: { readonly workspace: string }) => workspace,
    batchSizeMax: KEYS_PER_READ,
    concurrentReadsMax: READS_MAX,
  };
  const loadByInvoice = createDataLoader<InvoiceKey, StoredSale>({
    ...common,
    identify: ({ workspace, invoiceId }) => `${workspace}/${invoiceId}`,
    async load(keys) {
      const workspace = keys[0]?.workspace ?? '';
      const invoices = keys.map(({ invoiceId }) => invoiceId);
      const rows = await readRows(clickhouse, BY_INVOICE, { workspace, invoices });
      return new Map(rows.map((row) => [`${workspace}/${row[3]}`, storedSale(row)]));
    },
  });
  const loadByBuyer = createDataLoader<BuyerKey, true>({
    ...common,
    identify: ({ workspace, customer, link }) => `${workspace}/${customer}/${link}`,
    async load(keys) {
      const workspace = keys[0]?.workspace ?? '';
      const customers = keys.map(({ customer }) => BigInt(customer));
      const links = keys.map(({ link }) => BigInt(link));
      const rows = await readRows(clickhouse, OF_CUSTOMERS, { workspace, customers, links });
      return new Map(rows.map(([customer, link]) => [`${workspace}/${customer}/${link}`, true]));
    },
  });

  const inTime = <T>(look: Promise<T>) =>
    withTimeout(orNotRecorded('look-up of sales', look), deadlineMs, () => {
      throw notRecorded('look-up of sales took too long');
    });

  return {
    async findByInvoice(workspaceId, invoiceId) {
      const workspace = parseResourceId('workspace', workspaceId) ?? '0';
      return inTime(loadByInvoice({ workspace, invoiceId }));
    },

    async hasSale(workspaceId, customerId, linkId) {
      const key = {
        workspace: parseResourceId('workspace', workspaceId) ?? '0',
        customer: parseResourceId('customer', customerId) ?? '0',
        link: parseResourceId('link', linkId) ?? '0',
      };
      return (await inTime(loadByBuyer(key))) === true;
    },

    keyDigests: (workspaceId, keysMax) =>
      readKeyDigests(clickhouse, {
        query: KEYS,
        parameters: { workspace: parseResourceId('workspace', workspaceId) ?? '0' },
        settings: { log_comment: `filter of sales workspace ${workspaceId}` },
        keysMax,
      }),
  };
}
