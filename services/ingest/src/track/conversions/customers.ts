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
  type ClaimState,
  CUSTOMER_CLAIM_MS,
  customerClaim,
  type FinalClaim,
  type HistoryKeeper,
  pendingCustomer,
  type QueuedRow,
  type StateValue,
} from '@waymark/event-queue';
import { orUnavailable } from '../unavailable.js';
import type { Backlog } from './backlog.js';
import { readClick } from './click-rows.js';
import type { HeldClaims } from './held-claims.js';

const FIRST_VERSION = 1;
const UNKNOWN_COUNTRY = 'Unknown';

/** Customer fields of a request. */
export interface CustomerDetails {
  readonly customerExternalId: string;
  readonly customerName?: string | null | undefined;
  readonly customerEmail?: string | null | undefined;
  readonly customerAvatar?: string | null | undefined;
}

export interface TrackedCustomers {
  /**
   * Whether there is no such customer, by the state of its claim: `final` and `pending` mean that there is, or may be, one. A free
   * claim that its history has not seen is a new customer; otherwise ClickHouse is asked.
   */
  isNew(workspaceId: string, externalId: string, claim: ClaimState): Promise<boolean>;
  /** The customer of that external id. Its claim must be held. */
  find(hold: HeldClaims, workspaceId: string, externalId: string): Promise<CustomerRecord | undefined>;
  /** The record of a new customer, attributed to a click. */
  draft(workspaceId: string, details: CustomerDetails, click: EventRow, link: LinkRecord): CustomerRecord;
  /** Claims that a commit must make final, so that the next request finds the customer in Redis. */
  finalClaims(hold: HeldClaims, record: CustomerRecord): FinalClaim[];
  /** The same for a new customer whose claim is taken by the commit itself. @param claim its state, by which the customer is new */
  newClaim(record: CustomerRecord, claim: ClaimState): FinalClaim;
  /** The claim of a known customer whose claim is not held: the commit checks that the customer is still the one in the claim. */
  knownClaim(record: CustomerRecord, value: string): FinalClaim;
}

/** The parts of a commit for a new customer: its row for ClickHouse, and Redis state that serves reads until the row is stored. */
export function newCustomer(record: CustomerRecord): {
  readonly row: QueuedRow;
  readonly state: readonly StateValue[];
} {
  const row = customerRow(record, FIRST_VERSION);
  return { row: { kind: 'customer', row }, state: pendingCustomer(row) };
}

export interface TrackedCustomersDeps {
  readonly catalog: Catalog;
  readonly histories: Pick<HistoryKeeper, 'note'>;
  readonly backlog: Backlog;
  readonly now: () => number;
}

/** Looks customers up for the track endpoints: through their claim in Redis, its history, then in the catalog. */
export function createTrackedCustomers({ catalog, histories, backlog, now }: TrackedCustomersDeps): TrackedCustomers {
  return {
    async isNew(workspaceId, externalId, claim) {
      if (claim.state !== 'free') return false;
      if (claim.isUnseen) return true;
      histories.note('customers', workspaceId);
      await backlog.check('customer', CUSTOMER_CLAIM_MS);
      return orUnavailable('customer look-up', catalog.customers.isNew(workspaceId, externalId));
    },

    async find(hold, workspaceId, externalId) {
      const name = customerClaim(workspaceId, externalId);
      const value = hold.finalValue(name);
      if (value !== undefined) return JSON.parse(value) as CustomerRecord;
      if (hold.isUnseen(name)) return undefined;
      histories.note('customers', workspaceId);
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

    finalClaims(hold, record) {
      const name = customerClaim(record.workspaceId, record.externalId);
      return hold.isMine(name) ? [hold.toFinal(name, JSON.stringify(record), CUSTOMER_CLAIM_MS)] : [];
    },

    newClaim(record, claim) {
      const name = customerClaim(record.workspaceId, record.externalId);
      const mustBeUnseen = claim.state === 'free' && claim.isUnseen === true;
      return { name, owner: undefined, mustBeUnseen, value: JSON.stringify(record), ttlMs: CUSTOMER_CLAIM_MS };
    },

    knownClaim(record, value) {
      const name = customerClaim(record.workspaceId, record.externalId);
      return { name, owner: undefined, expected: value, value, ttlMs: CUSTOMER_CLAIM_MS };
    },
  };
}
