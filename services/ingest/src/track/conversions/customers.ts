import {
  type Catalog,
  type CustomerRecord,
  customerName,
  customerRow,
  draftCustomer,
  type LinkRecord,
} from '@waymark/catalog';
import type { EventRow } from '@waymark/event-format';
import {
  CUSTOMER_CLAIM_MS,
  customerClaim,
  type FinalClaim,
  pendingCustomer,
  type QueuedRow,
  type StateValue,
} from '@waymark/event-queue';
import { orUnavailable } from '../unavailable.js';
import type { Backlog } from './backlog.js';
import type { ClaimHold } from './claim-hold.js';
import { readClick } from './click-rows.js';

const FIRST_VERSION = 1;
const UNKNOWN_COUNTRY = 'Unknown';

/** What a caller says about a customer it names. */
export interface CustomerDetails {
  readonly customerExternalId: string;
  readonly customerName?: string | null | undefined;
  readonly customerEmail?: string | null | undefined;
  readonly customerAvatar?: string | null | undefined;
}

export interface TrackedCustomers {
  /** Whether ClickHouse has no such customer. Redis may have it: the commit that takes its claim checks that. */
  isNew(workspaceId: string, externalId: string): Promise<boolean>;
  /** The customer of that external id. Its claim must be held. */
  find(hold: ClaimHold, workspaceId: string, externalId: string): Promise<CustomerRecord | undefined>;
  /** A customer met for the first time, brought by a click. */
  draft(workspaceId: string, details: CustomerDetails, click: EventRow, link: LinkRecord): CustomerRecord;
  /** What a commit has to make final, so that the next request finds the customer in Redis. */
  finals(hold: ClaimHold, record: CustomerRecord): FinalClaim[];
  /** The same of a new customer whose claim the commit takes. */
  taken(record: CustomerRecord): FinalClaim;
}

/** What a commit records of a new customer: its row for ClickHouse, and the same for reads until that is written. */
export function newCustomer(record: CustomerRecord): {
  readonly row: QueuedRow;
  readonly state: readonly StateValue[];
} {
  const row = customerRow(record, FIRST_VERSION);
  return { row: { kind: 'customer', row }, state: pendingCustomer(row) };
}

/** Customers as the track endpoints find them: first through their claim in Redis, then through the catalog. */
export function createTrackedCustomers(catalog: Catalog, backlog: Backlog, now: () => number): TrackedCustomers {
  return {
    async isNew(workspaceId, externalId) {
      await backlog.check('customer', CUSTOMER_CLAIM_MS);
      return orUnavailable('customer look-up', catalog.customers.isNew(workspaceId, externalId));
    },

    async find(hold, workspaceId, externalId) {
      const value = hold.finalValue(customerClaim(workspaceId, externalId));
      if (value !== undefined) return JSON.parse(value) as CustomerRecord;
      await backlog.check('customer', CUSTOMER_CLAIM_MS);
      return orUnavailable('customer look-up', catalog.customers.findByExternalId(workspaceId, externalId));
    },

    draft(workspaceId, details, click, link) {
      const { clickId, timestampMs, country } = readClick(click);
      const record = draftCustomer(
        workspaceId,
        {
          externalId: details.customerExternalId,
          name: details.customerName || null,
          email: details.customerEmail || null,
          avatar: details.customerAvatar || null,
          country: country === UNKNOWN_COUNTRY ? null : country,
          clickId,
          linkId: link.id,
          programId: link.programId,
          partnerId: link.partnerId,
          clickedAt: new Date(timestampMs).toISOString(),
        },
        now(),
      );
      return { ...record, name: customerName(record) };
    },

    finals(hold, record) {
      const name = customerClaim(record.workspaceId, record.externalId);
      return hold.isMine(name) ? [hold.toFinal(name, JSON.stringify(record), CUSTOMER_CLAIM_MS)] : [];
    },

    taken(record) {
      const name = customerClaim(record.workspaceId, record.externalId);
      return { name, owner: undefined, value: JSON.stringify(record), ttlMs: CUSTOMER_CLAIM_MS };
    },
  };
}
