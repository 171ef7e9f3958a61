import { type CustomerRecord, customerName, type LinkRecord, shortLinkOf } from '@waymark/catalog';
import { ApiError, fieldError, type TrackLeadBody, type TrackLeadResponse } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import { ClaimHeldError, checkCommitSize, customerClaim, LEAD_CLAIM_MS, leadClaim } from '@waymark/event-queue';
import { orNotRecorded } from '../not-recorded.js';
import type { ConversionDeps } from '../track-deps.js';
import type { ClickFinder } from './click-finder.js';
import { findClickAndLink } from './click-link.js';
import { readClick } from './click-rows.js';
import { newCustomer, type TrackedCustomers } from './customers.js';
import { withClaims } from './held-claims.js';
import type { LatestLeads } from './latest-leads.js';
import { firstLeadClaim, queuedLead } from './lead-rows.js';

export interface LeadTracker {
  /** @throws ApiError */
  track(workspaceId: string, body: TrackLeadBody): Promise<TrackLeadResponse>;
  /**
   * Refuses a lead whose rows are too large together with the row of a new customer, whether or not there is the customer or the lead.
   *
   * @throws ApiError unprocessable_entity
   */
  checkSize(workspaceId: string, body: TrackLeadBody, click: EventRow, link: LinkRecord): Promise<void>;
}

export interface LeadTrackerDeps {
  readonly deps: ConversionDeps;
  readonly customers: TrackedCustomers;
  readonly clicks: ClickFinder;
  readonly latestLeads: LatestLeads;
}

/** Ids and generated names of two new customers may differ in length, but by less than this in a hundred rows. */
const SIZE_MARGIN_BYTES = 1_000;

type TrackedLink = NonNullable<TrackLeadResponse['link']>;

function trackedLink(link: LinkRecord): TrackedLink {
  const { id, domain, key, url, partnerId, programId, tenantId, externalId } = link;
  return { id, domain, key, shortLink: shortLinkOf(domain, key), url, partnerId, programId, tenantId, externalId };
}

function responseFor(clickId: string, link: LinkRecord, customer: CustomerRecord): TrackLeadResponse {
  return { ...responseToRepeat(clickId, customer), link: trackedLink(link) };
}

/** The response to duplicates: the first response without its link. */
function responseToRepeat(clickId: string, customer: CustomerRecord): TrackLeadResponse {
  const { email, avatar, externalId } = customer;
  return { click: { id: clickId }, link: null, customer: { name: customerName(customer), email, avatar, externalId } };
}

/** `POST /track/lead`. */
export function createLeadTracker({ deps, customers, clicks, latestLeads }: LeadTrackerDeps): LeadTracker {
  const { catalog, producer, now } = deps;

  /** The rows and Redis state of a lead, for the commit. */
  function rowsAndState(body: TrackLeadBody, customer: CustomerRecord, isNew: boolean, click: EventRow) {
    const { eventName, metadata = null, eventQuantity } = body;
    const isDeferred = body.mode === 'deferred';
    const lead = { click, customerId: customer.id, eventName, metadata, quantity: eventQuantity ?? 1 };
    const newCustomers = isNew ? [newCustomer(customer)] : [];
    return {
      rows: [...newCustomers.map(({ row }) => row), ...(isDeferred ? [] : [queuedLead(lead, now())])],
      state: [
        ...newCustomers.flatMap(({ state }) => state),
        ...(isDeferred ? [] : latestLeads.state(customer, eventName, click)),
      ],
    };
  }

  /**
   * The fast path for new customers, to whom most leads belong: the transaction that records the lead also takes the claims, which saves a
   * round trip to Redis. Returns undefined when the lead must be tracked with claims held instead.
   */
  async function trackNew(workspaceId: string, body: TrackLeadBody): Promise<TrackLeadResponse | undefined> {
    if (!body.clickId) return undefined;
    const finding = findClickAndLink(catalog, clicks, workspaceId, body.clickId);
    // Prevents an unhandled rejection when this function returns before it awaits the promise.
    finding.catch(() => undefined);
    const filter = customers.filterOf(workspaceId);
    const filterMark = filter?.lacks(body.customerExternalId)
      ? filter.mark
      : await customers.markIfNew(workspaceId, body.customerExternalId);
    if (filterMark === undefined) return undefined;
    try {
      const { click, link } = await finding;
      const customer = await customers.draft(workspaceId, body, click, link);
      const { clickId } = readClick(click);
      const finals = [
        customers.newClaim(customer),
        ...(body.mode === 'deferred' ? [] : [firstLeadClaim(customer, body.eventName, clickId)]),
      ];
      await producer.commit({ finals, filterMark, ...rowsAndState(body, customer, true, click) });
      return responseFor(clickId, link, customer);
    } catch (err) {
      if (err instanceof ClaimHeldError) {
        customers.recheckFilter(workspaceId);
        return undefined;
      }
      if (!(err instanceof ApiError) || err.code !== 'not_found') throw err;
      // A duplicate is answered even if its click no longer exists.
      const [customer] = await producer.claims.read([customerClaim(workspaceId, body.customerExternalId)]);
      if (customer?.state === 'free') throw err;
      return undefined;
    }
  }

  /** Tracks a lead while holding its claims: waits for concurrent requests with the same claims, and answers duplicates. */
  function trackUnderClaims(workspaceId: string, body: TrackLeadBody): Promise<TrackLeadResponse> {
    const isDeferred = body.mode === 'deferred';

    return withClaims(producer.claims, now, async (hold) => {
      await hold.take([customerClaim(workspaceId, body.customerExternalId)]);
      const found = await customers.find(hold, workspaceId, body.customerExternalId);
      const known = found && !body.clickId ? await customers.withStoredClick(found) : found;
      const namedId = body.clickId || known?.clickId;
      if (!namedId) {
        throw fieldError('required', 'clickId', 'is required: the customer is not known, or has no click');
      }
      const leadName = known && !isDeferred ? leadClaim(workspaceId, known.id, body.eventName) : undefined;
      if (leadName !== undefined) await hold.take([leadName]);
      const claimedClickId = leadName === undefined ? undefined : hold.finalValue(leadName);
      if (known && claimedClickId !== undefined) return responseToRepeat(claimedClickId, known);

      const finding = findClickAndLink(catalog, clicks, workspaceId, namedId, namedId === known?.clickId);
      // A duplicate is answered even if the click of this request does not exist.
      finding.catch(() => undefined);
      const firstClickId = known && !isDeferred ? await latestLeads.firstClickId(known, body.eventName) : undefined;
      if (known && firstClickId !== undefined) return responseToRepeat(firstClickId, known);
      const { click, link } = await finding;
      // The request may have named the click by an alias.
      const { clickId } = readClick(click);
      // A lead that is refused for its size leaves the customer as it was.
      if (known?.clickId === null) checkCommitSize(rowsAndState(body, known, false, click).rows);
      const customer = known
        ? await customers.attributed(known, click, link, isDeferred)
        : await customers.draft(workspaceId, body, click, link);
      const response = responseFor(clickId, link, customer);
      const { rows, state } = rowsAndState(body, customer, known === undefined, click);
      // A deferred lead of an existing customer records nothing but its first click.
      if (rows.length === 0) return response;
      const ofLead =
        leadName === undefined
          ? [firstLeadClaim(customer, body.eventName, clickId)]
          : [hold.toFinal(leadName, clickId, LEAD_CLAIM_MS)];
      const finals = [...customers.finalClaims(hold, customer), ...(isDeferred ? [] : ofLead)];
      // Refused when Redis has lost the claims.
      await orNotRecorded('commit of a lead', producer.commit({ rows, finals, state }));
      return response;
    });
  }

  return {
    track: async (workspaceId, body) =>
      (await trackNew(workspaceId, body)) ?? (await trackUnderClaims(workspaceId, body)),

    async checkSize(workspaceId, body, click, link) {
      // One lead and its customer always fit.
      if ((body.eventQuantity ?? 1) === 1) return;
      const customer = await customers.draft(workspaceId, body, click, link);
      checkCommitSize(rowsAndState(body, customer, true, click).rows, SIZE_MARGIN_BYTES);
    },
  };
}
