import type { ClickHouseClient } from '@waymark/clickhouse';
import { type Customer, createResourceId } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import { everExisted } from '../clickhouse/ever-existed.js';
import type { CursorPage } from '../lists/record-list.js';
import { recordRow } from '../model/entity-type.js';
import { customerExternalId, customerType } from '../model/entity-types.js';
import type { CustomerRecord } from '../model/record-schemas.js';
import type { PendingRecords } from '../pending/pending-records.js';
import { createResources, type ResourceDeps } from '../resources/resource.js';
import type { RecordStore, TableSettings } from '../store/record-store.js';
import { type Counters, type CustomerTotals, NO_CUSTOMER_TOTALS } from '../totals/counters.js';
import { CUSTOMER_RULES, type CustomerFilters, type NewCustomer } from './customer-rules.js';
import { generatedName } from './generated-name.js';
import { type CustomerIdempotencyKeys, readIdempotencyKeys } from './idempotency-keys.js';

/** Makes the record of a new customer, with a new id. Stores nothing. */
export function draftCustomer(workspaceId: string, input: NewCustomer, nowMs: number): CustomerRecord {
  const time = new Date(nowMs).toISOString();
  const id = createResourceId('customer', nowMs);
  return { id, workspaceId, createdAt: time, updatedAt: time, ...CUSTOMER_RULES.complete(input) };
}

/** The row of a customer for a job of the kind `customer`. */
export function customerRow(record: CustomerRecord, version: number): EventRow {
  return recordRow(customerType, { record, version });
}

/** The display name of a customer: its name, else its email, else a name made from its id. */
export function customerName(record: Pick<CustomerRecord, 'id' | 'name' | 'email'>): string {
  return record.name || record.email || generatedName(record.id);
}

/** The click that first brought a customer, with its link, and the country of the click. */
export type FirstClick = Pick<
  CustomerRecord,
  'clickId' | 'clickedAt' | 'linkId' | 'programId' | 'partnerId' | 'country'
>;

/** Dependencies of {@link createCustomers}. */
export interface CustomersDeps extends ResourceDeps {
  readonly clickhouse: ClickHouseClient;
  readonly settings: TableSettings;
  readonly counters: Counters;
  readonly pending: PendingRecords<CustomerRecord>;
}

/** The operations on customers. */
export function createCustomers(store: RecordStore<CustomerRecord>, deps: CustomersDeps) {
  return {
    ...createResources(store, CUSTOMER_RULES, deps),

    /** The customers before or after a given one, in the order of creation. */
    listFrom: (workspaceId: string, filters: CustomerFilters, page: CursorPage): Promise<CustomerRecord[]> =>
      store.lists.listFrom(workspaceId, CUSTOMER_RULES.conditions(filters), page),

    /** Finds a customer by the caller's own id, without the prefix `ext_`. */
    findByExternalId(workspaceId: string, externalId: string): Promise<CustomerRecord | undefined> {
      return store.findByName(customerExternalId(workspaceId, externalId));
    },

    /**
     * Attributes a customer without a click to its first one. Of concurrent calls only one does; later ones change nothing. A country that
     * the customer has stays, and a customer who was imported with a link stays with that link.
     *
     * @returns the customer as it is stored now; undefined when there is none
     */
    attribute(workspaceId: string, id: string, first: FirstClick): Promise<CustomerRecord | undefined> {
      return store.update(workspaceId, id, (customer) => {
        if (customer.clickId !== null || (customer.linkId ?? first.linkId) !== first.linkId) return customer;
        const updatedAt = new Date(deps.now()).toISOString();
        return { ...customer, ...first, country: customer.country ?? first.country, updatedAt };
      });
    },

    /**
     * Whether no customer, stored or queued, has the external id. Reads no cache.
     *
     * @throws ApiError 500 with `Retry-After` when Redis stays away
     */
    async isNew(workspaceId: string, externalId: string): Promise<boolean> {
      const name = customerExternalId(workspaceId, externalId);
      // The queue first: a customer that leaves the queue between the two reads is found in the table.
      if ((await deps.pending.readByName(name)) !== undefined) return false;
      return (await deps.namesTable.rowsOf(name)).length === 0;
    },

    /**
     * Digests of the external ids of all customers of a workspace in ClickHouse, removed ones included; undefined when there are more than
     * `keysMax`. See `readKeyDigests`.
     */
    externalIdDigests(workspaceId: string, keysMax: number): Promise<Buffer[] | undefined> {
      const { kind, scope } = customerExternalId(workspaceId, '');
      return deps.namesTable.digests(kind, scope, keysMax);
    },

    /**
     * Whether the customer is still in the queue; then the event that created it may be too.
     *
     * @throws ApiError 500 with `Retry-After` when Redis stays away
     */
    async isPending(workspaceId: string, id: string): Promise<boolean> {
      return (await deps.pending.read(workspaceId, id)) !== undefined;
    },

    /** Whether the workspace has, or ever had, a customer with that id. */
    everExisted: (workspaceId: string, id: string): Promise<boolean> =>
      everExisted(deps.clickhouse, deps.settings.read, 'customer', workspaceId, id),
    /** The public id for the UInt64 of a customer's id. */
    idOf: (number: string): string => store.table.publicId(number),

    /** Idempotency keys under which the `/track` endpoints store answers that contain the customer. */
    idempotencyKeys: (workspaceId: string, id: string): Promise<CustomerIdempotencyKeys> =>
      readIdempotencyKeys(deps.clickhouse, deps.settings.read, workspaceId, id),

    /** The totals of each customer that has events. */
    counters: deps.counters.customers,

    /** Like `counters`, but from caches, so that the latest events may be missing. */
    cachedCounters: deps.counters.cached.customers,

    /** The customer object of every response. */
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
