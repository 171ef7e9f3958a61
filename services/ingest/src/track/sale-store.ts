import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId, type PaymentProcessor, parseResourceId, type TrackSaleResponse } from '@waymark/contract';
import { readRows } from './read-rows.js';
import { orUnavailable } from './unavailable.js';

type SaleDetails = NonNullable<TrackSaleResponse['sale']>;

/** A sale that ClickHouse has, as far as an answer tells of it. */
export interface WrittenSale {
  readonly eventName: string;
  readonly customerId: string;
  readonly sale: SaleDetails;
}

/** Sales that are older than Redis remembers. */
export interface SaleStore {
  findByInvoice(workspaceId: string, invoiceId: string): Promise<WrittenSale | undefined>;
  hasSale(workspaceId: string, customerId: string, linkId: string): Promise<boolean>;
}

interface SalePayload {
  readonly sale: {
    readonly amount: number;
    readonly currency: string;
    readonly invoiceId: string | null;
    readonly paymentProcessor: PaymentProcessor;
  };
  readonly metadata: SaleDetails['metadata'];
}

const BY_INVOICE = `SELECT event_name, customer_id, payload FROM sale_events
WHERE workspace_id = {workspace:UInt64} AND invoice_id = {invoice:String}
ORDER BY timestamp, event_id LIMIT 1`;

const OF_CUSTOMER_AND_LINK = `SELECT 1 FROM sale_events
WHERE workspace_id = {workspace:UInt64} AND customer_id = {customer:UInt64} AND link_id = {link:UInt64} LIMIT 1`;

export function createSaleStore(clickhouse: ClickHouseClient): SaleStore {
  async function firstRow(query: string, parameters: Readonly<Record<string, unknown>>): Promise<string[] | undefined> {
    return (await orUnavailable('look-up of sales', readRows(clickhouse, query, parameters)))[0];
  }

  return {
    async findByInvoice(workspaceId, invoiceId) {
      const workspace = parseResourceId('workspace', workspaceId);
      const row = await firstRow(BY_INVOICE, { workspace, invoice: invoiceId });
      if (row === undefined) return undefined;
      const [eventName = '', customerNumber = '0', payload = '{}'] = row;
      const { sale, metadata } = JSON.parse(payload) as SalePayload;
      const { amount, currency, paymentProcessor } = sale;
      return {
        eventName,
        customerId: formatResourceId('customer', customerNumber),
        sale: { amount, currency, paymentProcessor, invoiceId: sale.invoiceId, metadata },
      };
    },

    async hasSale(workspaceId, customerId, linkId) {
      const parameters = {
        workspace: parseResourceId('workspace', workspaceId),
        customer: parseResourceId('customer', customerId),
        link: parseResourceId('link', linkId),
      };
      return (await firstRow(OF_CUSTOMER_AND_LINK, parameters)) !== undefined;
    },
  };
}
