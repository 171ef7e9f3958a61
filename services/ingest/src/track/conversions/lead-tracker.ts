import { type CustomerRecord, customerName, type LinkRecord, shortLinkOf } from '@waymark/catalog';
import { ApiError, createEventId, fieldError, type TrackLeadBody, type TrackLeadResponse } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import { ClaimHeldError, type ClaimState, customerClaim, leadClaim } from '@waymark/event-queue';
import type { TrackDeps } from '../track-deps.js';
import type { ClickFinder } from './click-finder.js';
import { findClickAndLink } from './click-link.js';
import { newCustomer, type TrackedCustomers } from './customers.js';
import { withClaims } from './held-claims.js';
import type { LatestLeads } from './latest-leads.js';
import { leadRows } from './lead-rows.js';

/** A customer's lead of one name is recorded only once in this time (docs/reference/tracking.md). */
const DEDUPLICATION_MS = 8 * 24 * 3_600_000;
const FREE: ClaimState = { state: 'free' };

export interface LeadTracker {
  /** @throws ApiError */
  track(workspaceId: string, body: TrackLeadBody): Promise<TrackLeadResponse>;
}

export interface LeadTrackerDeps {
  readonly deps: TrackDeps;
  readonly customers: TrackedCustomers;
  readonly clicks: ClickFinder;
  readonly leads: LatestLeads;
}

type TrackedLink = NonNullable<TrackLeadResponse['link']>;

function trackedLink(link: LinkRecord): TrackedLink {
  const { id, domain, key, url, partnerId, programId, tenantId, externalId } = link;
  return { id, domain, key, shortLink: shortLinkOf(domain, key), url, partnerId, programId, tenantId, externalId };
}

function responseFor(clickId: string, link: LinkRecord, customer: CustomerRecord): TrackLeadResponse {
  const { email, avatar, externalId } = customer;
  return {
    click: { id: clickId },
    link: trackedLink(link),
    customer: { name: customerName(customer), email, avatar, externalId },
  };
}

/** The value of a lead's claim: the response to repeats, without its link, and a text that no other commit has. */
function claimValue(response: TrackLeadResponse, nowMs: number): string {
  return JSON.stringify({ ...response, link: null, commit: createEventId(nowMs) });
}

function repeatedResponse(value: string): TrackLeadResponse {
  const { click, link, customer } = JSON.parse(value) as TrackLeadResponse;
  return { click, link, customer };
}

/** `POST /track/lead`. */
export function createLeadTracker({ deps, customers, clicks, leads }: LeadTrackerDeps): LeadTracker {
  const { catalog, producer, now } = deps;

  /** The rows and Redis state of a lead, for the commit. */
  function rowsAndState(body: TrackLeadBody, customer: CustomerRecord, isNew: boolean, click: EventRow) {
    const { eventName, metadata = null, eventQuantity } = body;
    const isDeferred = body.mode === 'deferred';
    const lead = { click, customerId: customer.id, eventName, metadata, quantity: eventQuantity ?? 1 };
    const newCustomers = isNew ? [newCustomer(customer)] : [];
    return {
      rows: [...newCustomers.map(({ row }) => row), ...(isDeferred ? [] : leadRows(lead, now()))],
      state: [
        ...newCustomers.flatMap(({ state }) => state),
        ...(isDeferred ? [] : leads.state(customer, eventName, click)),
      ],
    };
  }

  /**
   * The fast path: reads the claims, and takes them in the transaction that records the lead, which saves a round trip to Redis; the lead
   * of a new customer asks ClickHouse nothing while the history of its workspace is complete. Returns undefined when the lead must be
   * tracked with claims held.
   */
  async function trackUnheld(workspaceId: string, body: TrackLeadBody): Promise<TrackLeadResponse | undefined> {
    const isDeferred = body.mode === 'deferred';
    const names = [
      customerClaim(workspaceId, body.customerExternalId),
      leadClaim(workspaceId, body.customerExternalId, body.eventName),
    ] as const;
    const finding = body.clickId ? findClickAndLink(catalog, clicks, workspaceId, body.clickId) : undefined;
    // Prevents an unhandled rejection when this function returns before it awaits the promise.
    finding?.catch(() => undefined);
    const [customerState = FREE, leadState = FREE] = await producer.claims.lookUp(names);
    if (!isDeferred && leadState.state !== 'free') return undefined;
    const known = customerState.state === 'final' ? (JSON.parse(customerState.value) as CustomerRecord) : undefined;
    const clickId = body.clickId || known?.clickId;
    if (!clickId) return undefined;
    if (known === undefined && !(await customers.isNew(workspaceId, body.customerExternalId, customerState))) {
      return undefined;
    }
    try {
      const { click, link } = await (finding ?? findClickAndLink(catalog, clicks, workspaceId, clickId));
      const customer = known ?? customers.draft(workspaceId, body, click, link);
      const response = responseFor(clickId, link, customer);
      const { rows, state } = rowsAndState(body, customer, known === undefined, click);
      // A deferred lead of an existing customer records nothing.
      if (rows.length === 0) return response;
      const customerFinal =
        customerState.state === 'final'
          ? customers.knownClaim(customer, customerState.value)
          : customers.newClaim(customer, customerState);
      const leadFinal = {
        ...{ name: names[1], owner: undefined },
        ...{ value: claimValue(response, now()), ttlMs: DEDUPLICATION_MS },
      };
      await producer.commit({ rows, state, finals: isDeferred ? [customerFinal] : [customerFinal, leadFinal] });
      return response;
    } catch (err) {
      if (err instanceof ClaimHeldError) return undefined;
      if (!(err instanceof ApiError) || err.code !== 'not_found') throw err;
      // A duplicate is answered even if its click no longer exists.
      const states = await producer.claims.read(names);
      if (states.every(({ state }) => state === 'free')) throw err;
      return undefined;
    }
  }

  /** Tracks a lead with its claims held, which also waits for a concurrent request and answers duplicates. */
  function trackUnderClaims(workspaceId: string, body: TrackLeadBody): Promise<TrackLeadResponse> {
    const isDeferred = body.mode === 'deferred';
    const customerClaimName = customerClaim(workspaceId, body.customerExternalId);
    const leadName = leadClaim(workspaceId, body.customerExternalId, body.eventName);

    return withClaims(producer.claims, now, async (hold) => {
      await hold.take(isDeferred ? [customerClaimName] : [customerClaimName, leadName]);
      const known = await customers.find(hold, workspaceId, body.customerExternalId);
      const clickId = body.clickId || known?.clickId;
      if (!clickId) {
        throw fieldError('required', 'clickId', 'is required: the customer is not known, or has no click');
      }
      const repeated = hold.finalValue(leadName);
      if (repeated !== undefined) return repeatedResponse(repeated);

      const { click, link } = await findClickAndLink(catalog, clicks, workspaceId, clickId);
      const customer = known ?? customers.draft(workspaceId, body, click, link);
      const response = responseFor(clickId, link, customer);
      const { rows, state } = rowsAndState(body, customer, known === undefined, click);
      // A deferred lead of an existing customer records nothing.
      if (rows.length === 0) return response;
      const finals = [
        ...customers.finalClaims(hold, customer),
        ...(isDeferred ? [] : [hold.toFinal(leadName, claimValue(response, now()), DEDUPLICATION_MS)]),
      ];
      await producer.commit({ rows, finals, state });
      return response;
    });
  }

  return {
    track: async (workspaceId, body) =>
      (await trackUnheld(workspaceId, body)) ?? (await trackUnderClaims(workspaceId, body)),
  };
}
