import { withTimeout } from '@waymark/cache';
import {
  type Catalog,
  type CustomerRecord,
  customerName,
  customerRow,
  draftCustomer,
  type FirstClick,
  type LinkRecord,
} from '@waymark/catalog';
import { parseResourceId } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import {
  CUSTOMER_CLAIM_MS,
  customerClaim,
  type EventProducer,
  type FilterMark,
  type FinalClaim,
  pendingCustomer,
  type QueuedRow,
  type StateValue,
} from '@waymark/event-queue';
import { orNotRecorded } from '../not-recorded.js';
import type { Backlog } from './backlog.js';
import { readClick } from './click-rows.js';
import type { HeldClaims } from './held-claims.js';
import type { KeyFilter, StoredKeys } from './stored-keys.js';

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
   * The mark of the workspace if no such customer is stored or queued; undefined if there may be one. A commit with it is refused when another
   * request is creating the customer, and also when the claim of that request has been removed since.
   */
  markIfNew(workspaceId: string, externalId: string): Promise<FilterMark | undefined>;
  /** The filter of external ids (see {@link StoredKeys}). */
  filterOf(workspaceId: string): KeyFilter | undefined;
  /** Call it when a commit that relied on the filter was refused. Drops the filter in the background if its mark has changed. */
  recheckFilter(workspaceId: string): void;
  /** The customer of that external id. Its claim must be held. */
  find(hold: HeldClaims, workspaceId: string, externalId: string): Promise<CustomerRecord | undefined>;
  /**
   * The customer with the click that it has by now. `find` may return a copy without one, from its creation by `POST /customers`, for as long
   * as its claim has that copy.
   */
  withStoredClick(customer: CustomerRecord): Promise<CustomerRecord>;
  /**
   * The customer, attributed to the click if it has none yet: every process finds it so from then on. Await it before the commit of the event,
   * so that it is attributed whenever the process ends. A customer who is removed meanwhile stays as given, and so does one whose record is
   * locked, or cannot be changed, for two seconds, unless `isRequired`: then the next lead attributes it.
   */
  attributed(customer: CustomerRecord, click: EventRow, link: LinkRecord, isRequired: boolean): Promise<CustomerRecord>;
  /** The record of a new customer, attributed to a click. */
  draft(workspaceId: string, details: CustomerDetails, click: EventRow, link: LinkRecord): Promise<CustomerRecord>;
  /**
   * The customer's claim, if this request holds it. The commit has to make it final, so that the next request finds the record in Redis.
   */
  finalClaims(hold: HeldClaims, record: CustomerRecord): FinalClaim[];
  /** The same for a new customer whose claim is taken by the commit itself. */
  newClaim(record: CustomerRecord): FinalClaim;
}

/** The parts of a commit for a new customer: its row for ClickHouse, and Redis state that serves reads until the row is stored. */
export function newCustomer(record: CustomerRecord): {
  readonly row: QueuedRow;
  readonly state: readonly StateValue[];
} {
  const row = customerRow(record, FIRST_VERSION);
  return { row: { kind: 'customer', row }, state: pendingCustomer(row) };
}

/** The fields that attribute a customer to its first click. */
function firstClick(click: EventRow, link: LinkRecord): FirstClick {
  const { clickId, timestampMs, country } = readClick(click);
  return {
    country: country === UNKNOWN_COUNTRY ? null : country,
    clickId,
    linkId: link.id,
    programId: link.programId,
    partnerId: link.partnerId,
    clickedAt: new Date(timestampMs).toISOString(),
  };
}

/** How long a lead that is recorded in any case waits for the attribution of its customer. */
const ATTRIBUTION_MS_MAX = 2_000;
/** Clocks of machines may differ by this much. */
const CLOCK_MS = 10 * 60_000;

/**
 * Drafts a customer with an id that is later than the erasures of its external id. An erasure includes the customers whose ids are not later
 * than its acceptance, so somebody who gets the external id afterwards needs such an id, also while the clock of this process is behind.
 */
async function draftedAfterErasures(
  { people }: Catalog['erasures'],
  nowMs: number,
  draftAt: (timeMs: number) => CustomerRecord,
): Promise<CustomerRecord> {
  const erased = await people.soon();
  for (let record = draftAt(nowMs); ; ) {
    const workspace = parseResourceId('workspace', record.workspaceId) ?? '';
    const erasure = erased?.erasureOf(workspace, parseResourceId('customer', record.id) ?? '', record.externalId);
    const acceptedMs = erasure === undefined ? undefined : Date.parse(erasure.createdAt);
    if (acceptedMs === undefined || acceptedMs > nowMs + CLOCK_MS) return record;
    record = draftAt(acceptedMs + 1);
  }
}

export interface TrackedCustomersDeps {
  readonly catalog: Catalog;
  readonly producer: Pick<EventProducer, 'openFilterMark'>;
  readonly backlog: Backlog;
  /** The filter of the external ids of stored customers. */
  readonly storedKeys: StoredKeys;
  readonly now: () => number;
}

/** Looks customers up for the track endpoints: first through their claim in Redis, then in the catalog. */
export function createTrackedCustomers(deps: TrackedCustomersDeps): TrackedCustomers {
  const { catalog, producer, backlog, storedKeys, now } = deps;

  async function withStoredClick(customer: CustomerRecord): Promise<CustomerRecord> {
    if (customer.clickId !== null) return customer;
    const stored = catalog.customers.get(customer.workspaceId, customer.id);
    return (await orNotRecorded('customer look-up', stored)) ?? customer;
  }

  async function attribute(customer: CustomerRecord, first: FirstClick): Promise<CustomerRecord> {
    const known = await withStoredClick(customer);
    if (known.clickId !== null) return known;
    const attributing = catalog.customers.attribute(known.workspaceId, known.id, first);
    return (await orNotRecorded('first click of a customer', attributing)) ?? known;
  }

  return {
    filterOf: storedKeys.filterOf,
    recheckFilter: (workspaceId) => void storedKeys.recheck(workspaceId),

    async markIfNew(workspaceId, externalId) {
      // Before the look-up, so that every claim that is removed after it replaces the mark.
      const mark = await orNotRecorded('mark of filters', producer.openFilterMark(workspaceId));
      if (mark === undefined) return undefined;
      await backlog.check('customer', CUSTOMER_CLAIM_MS);
      const isNew = await orNotRecorded('customer look-up', catalog.customers.isNew(workspaceId, externalId));
      return isNew ? mark : undefined;
    },

    async find(hold, workspaceId, externalId) {
      const value = hold.finalValue(customerClaim(workspaceId, externalId));
      if (value !== undefined) return JSON.parse(value) as CustomerRecord;
      await backlog.check('customer', CUSTOMER_CLAIM_MS);
      return orNotRecorded('customer look-up', catalog.customers.findByExternalId(workspaceId, externalId));
    },

    withStoredClick,

    async attributed(customer, click, link, isRequired) {
      const attributing = attribute(customer, firstClick(click, link));
      if (isRequired) return attributing;
      return withTimeout(attributing, ATTRIBUTION_MS_MAX, () => customer).catch(() => customer);
    },

    async draft(workspaceId, details, click, link) {
      const fields = {
        externalId: details.customerExternalId,
        name: details.customerName || null,
        email: details.customerEmail || null,
        avatar: details.customerAvatar || null,
        ...firstClick(click, link),
      };
      const draftAt = (timeMs: number) => draftCustomer(workspaceId, fields, timeMs);
      const record = await draftedAfterErasures(catalog.erasures, now(), draftAt);
      return { ...record, name: customerName(record) };
    },

    finalClaims(hold, record) {
      const name = customerClaim(record.workspaceId, record.externalId);
      return hold.isMine(name) ? [hold.toFinal(name, JSON.stringify(record), CUSTOMER_CLAIM_MS)] : [];
    },

    newClaim(record) {
      const name = customerClaim(record.workspaceId, record.externalId);
      return { name, owner: undefined, value: JSON.stringify(record), ttlMs: CUSTOMER_CLAIM_MS };
    },
  };
}
