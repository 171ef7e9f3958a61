import { type CustomerRecord, customerName, type LinkRecord, shortLinkOf } from '@waymark/catalog';
import { ApiError, fieldError, type TrackLeadBody, type TrackLeadResponse } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import { ClaimHeldError, customerClaim, leadClaim } from '@waymark/event-queue';
import type { TrackDeps } from '../track-deps.js';
import { withClaims } from './claim-hold.js';
import type { ClickFinder } from './click-finder.js';
import { clickedLink } from './click-link.js';
import { newCustomer, type TrackedCustomers } from './customers.js';
import type { LatestLeads } from './latest-leads.js';
import { leadRows } from './lead-rows.js';

/** A lead of one name counts once for a customer; the public system allows a repeat after a week, Waymark a day later. */
const REMEMBERED_MS = 8 * 24 * 3_600_000;

export interface LeadTracker {
  /** @throws ApiError */
  track(workspaceId: string, body: TrackLeadBody): Promise<TrackLeadResponse>;
}

export interface LeadTrackerParts {
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

function answerOf(clickId: string, link: LinkRecord, customer: CustomerRecord): TrackLeadResponse {
  const { email, avatar, externalId } = customer;
  return {
    click: { id: clickId },
    link: trackedLink(link),
    customer: { name: customerName(customer), email, avatar, externalId },
  };
}

/** The answer to a repeat: the first answer without its link. Nothing else is stored of it. */
function storedAnswer(answer: TrackLeadResponse): string {
  return JSON.stringify({ ...answer, link: null });
}

/** `POST /track/lead`. */
export function createLeadTracker({ deps, customers, clicks, leads }: LeadTrackerParts): LeadTracker {
  const { catalog, producer, now } = deps;

  /** What is recorded of a lead besides its claims. */
  function toRecord(body: TrackLeadBody, customer: CustomerRecord, isNew: boolean, click: EventRow) {
    const { eventName, metadata = null, eventQuantity } = body;
    const isDeferred = body.mode === 'deferred';
    const lead = { click, customerId: customer.id, eventName, metadata, quantity: eventQuantity ?? 1 };
    const news = isNew ? [newCustomer(customer)] : [];
    return {
      rows: [...news.map(({ row }) => row), ...(isDeferred ? [] : leadRows(lead, now()))],
      state: [...news.flatMap(({ state }) => state), ...(isDeferred ? [] : leads.state(customer, eventName, click))],
    };
  }

  /**
   * Most leads bring a new customer. Such a one takes its claims in the transaction that records it: one wait for Redis instead
   * of two. Undefined = there is something to be found out under the claims first.
   */
  async function trackNew(workspaceId: string, body: TrackLeadBody): Promise<TrackLeadResponse | undefined> {
    if (!body.clickId) return undefined;
    const finding = clickedLink(catalog, clicks, workspaceId, body.clickId);
    finding.catch(() => undefined);
    if (!(await customers.isNew(workspaceId, body.customerExternalId))) return undefined;
    const leadName = leadClaim(workspaceId, body.customerExternalId, body.eventName);
    try {
      const { click, link } = await finding;
      const customer = customers.draft(workspaceId, body, click, link);
      const answer = answerOf(body.clickId, link, customer);
      const taken = { name: leadName, owner: undefined, value: storedAnswer(answer), ttlMs: REMEMBERED_MS };
      const finals = [customers.taken(customer), ...(body.mode === 'deferred' ? [] : [taken])];
      await producer.commit({ ...toRecord(body, customer, true, click), finals });
      return answer;
    } catch (err) {
      if (err instanceof ClaimHeldError) return undefined;
      if (!(err instanceof ApiError) || err.code !== 'not_found') throw err;
      // A repeat is answered whatever has become of its click.
      const states = await producer.claims.read([customerClaim(workspaceId, body.customerExternalId), leadName]);
      if (states.every(({ state }) => state === 'free')) throw err;
      return undefined;
    }
  }

  function trackUnderClaims(workspaceId: string, body: TrackLeadBody): Promise<TrackLeadResponse> {
    const isDeferred = body.mode === 'deferred';
    const customerName = customerClaim(workspaceId, body.customerExternalId);
    const leadName = leadClaim(workspaceId, body.customerExternalId, body.eventName);

    return withClaims(producer.claims, now, async (hold) => {
      await hold.take(isDeferred ? [customerName] : [customerName, leadName]);
      const known = await customers.find(hold, workspaceId, body.customerExternalId);
      const clickId = body.clickId || known?.clickId;
      if (!clickId) {
        throw fieldError('required', 'clickId', 'is required: the customer is not known, or has no click');
      }
      const first = hold.finalValue(leadName);
      if (first !== undefined) return JSON.parse(first) as TrackLeadResponse;

      const { click, link } = await clickedLink(catalog, clicks, workspaceId, clickId);
      const customer = known ?? customers.draft(workspaceId, body, click, link);
      const answer = answerOf(clickId, link, customer);
      const { rows, state } = toRecord(body, customer, known === undefined, click);
      // A deferred lead of a known customer says nothing new.
      if (rows.length === 0) return answer;
      const finals = [
        ...customers.finals(hold, customer),
        ...(isDeferred ? [] : [hold.toFinal(leadName, storedAnswer(answer), REMEMBERED_MS)]),
      ];
      await producer.commit({ rows, finals, state });
      return answer;
    });
  }

  return {
    track: async (workspaceId, body) =>
      (await trackNew(workspaceId, body)) ?? (await trackUnderClaims(workspaceId, body)),
  };
}
