import type { EventRow } from '@waymark/clickhouse';
import { type Customer, createResourceId } from '@waymark/contract';
import { type Counters, type CustomerTotals, NO_CUSTOMER_TOTALS } from './counters.js';
import { nameRow, recordRow } from './kind.js';
import { customerExternalId, customerKind } from './kinds.js';
import { readableName } from './readable-name.js';
import type { RecordStore } from './record-store.js';
import type { CustomerRecord } from './records.js';

/** What a new customer must say; the rest defaults to null. */
export type NewCustomer = Partial<Omit<CustomerRecord, 'id' | 'workspaceId' | 'createdAt' | 'updatedAt'>> & {
  readonly externalId: string;
};

/** A customer that is not stored yet, with a new id. */
export function draftCustomer(workspaceId: string, input: NewCustomer, nowMs: number): CustomerRecord {
  const time = new Date(nowMs).toISOString();
  return {
    name: null,
    email: null,
    avatar: null,
    stripeCustomerId: null,
    country: null,
    clickId: null,
    linkId: null,
    programId: null,
    partnerId: null,
    clickedAt: null,
    subscriptionCanceledAt: null,
    ...input,
    id: createResourceId('customer', nowMs),
    workspaceId,
    createdAt: time,
    updatedAt: time,
  };
}

/** The queue row of a customer (kind `customer`, version 1). */
export function customerRow(record: CustomerRecord, version: number): EventRow {
  return recordRow(customerKind, { record, version });
}

/** The row of `names` that belongs to a queue row of a customer: makes the customer findable by its external id. */
export function customerNameRow(row: EventRow): EventRow {
  const [workspaceNumber, number, version, , externalId] = row;
  if (typeof workspaceNumber !== 'string' || typeof number !== 'string' || typeof externalId !== 'string') {
    throw new TypeError('not a customer row');
  }
  const name = { kind: 'customer', scope: workspaceNumber, name: externalId };
  return nameRow(name, { id: number, workspaceId: workspaceNumber }, Number(version));
}

/** What to call a customer: its name, else its email, else a name made from its id (spec 2.8). */
export function customerName(record: Pick<CustomerRecord, 'id' | 'name' | 'email'>): string {
  return record.name || record.email || readableName(record.id);
}

export function createCustomers(store: RecordStore<CustomerRecord>, counters: Counters, now: () => number) {
  return {
    get: store.get,
    getMany: store.getMany,

    /** Customers of the queue become findable here when the writer has written them. */
    findByExternalId(workspaceId: string, externalId: string): Promise<CustomerRecord | undefined> {
      return store.findByName(customerExternalId(workspaceId, externalId));
    },

    /** @throws ApiError conflict when the external id is taken */
    create(workspaceId: string, input: NewCustomer): Promise<CustomerRecord> {
      return store.create(draftCustomer(workspaceId, input, now()));
    },

    /** The totals of each customer that has events. */
    counters: counters.customers,

    /** The customer object of every response (spec 2.8). */
    toCustomer(record: CustomerRecord, totals: CustomerTotals = NO_CUSTOMER_TOTALS): Customer {
      return {
        id: record.id,
        externalId: record.externalId,
        name: customerName(record),
        email: record.email,
        avatar: record.avatar,
        stripeCustomerId: record.stripeCustomerId,
        country: record.country,
        sales: totals.sales,
        saleAmount: totals.saleAmount,
        createdAt: record.createdAt,
        firstSaleAt: totals.firstSaleAt,
        subscriptionCanceledAt: record.subscriptionCanceledAt,
      };
    },
  };
}
