import { type CustomerRecord, customerName, type LinkRecord } from '@waymark/catalog';
import {
  ApiError,
  createEventId,
  deletedCustomer,
  parseResourceId,
  type TrackSaleBody,
  type TrackSaleResponse,
} from '@waymark/contract';
import { type EventRow, saleRow } from '@waymark/event-format';
import {
  ClaimHeldError,
  customerClaim,
  type FilterMark,
  type FinalClaim,
  firstSaleClaim,
  type InvoiceAnswer,
  invoiceClaim,
  type QueuedRow,
  SALE_CLAIM_MS,
  type StateValue,
} from '@waymark/event-queue';
import { orNotRecorded } from '../not-recorded.js';
import type { ConversionDeps } from '../track-deps.js';
import type { Backlog } from './backlog.js';
import type { ClickFinder } from './click-finder.js';
import { findClickAndLink, linkOfClick } from './click-link.js';
import { readClick } from './click-rows.js';
import { newCustomer, type TrackedCustomers } from './customers.js';
import { type HeldClaims, withClaims } from './held-claims.js';
import type { LatestLeads } from './latest-leads.js';
import { firstLeadClaim, queuedLead } from './lead-rows.js';
import { buyerKey, invoiceKey, type SaleStore } from './sale-store.js';
import type { KeyFilter, StoredKeys } from './stored-keys.js';

const DIRECT_LEAD_NAME = 'Direct sale tracking lead event';

/** The response to a sale. A repeated invoice is answered with the sale that was stored first. */
export interface TrackedSale {
  readonly response: TrackSaleResponse;
  /** Set for a repeated invoice: the link of the stored sale, `null` when it was stored without one. */
  readonly storedLinkId?: string | null;
}

export interface SaleTracker {
  /** @throws ApiError */
  track(workspaceId: string, body: TrackSaleBody): Promise<TrackedSale>;
}

/** A response that contains only data from the request, nothing that is stored. */
export function echoSale(body: TrackSaleBody): TrackSaleResponse {
  const { eventName, amount, currency, paymentProcessor, metadata = null } = body;
  const invoiceId = body.invoiceId || null;
  // A customer object needs an id, which the caller must not see.
  return {
    eventName,
    customer: null,
    sale: amount === 0 ? null : { amount, currency, paymentProcessor, invoiceId, metadata },
  };
}

export interface SaleTrackerDeps {
  readonly deps: ConversionDeps;
  readonly customers: TrackedCustomers;
  readonly clicks: ClickFinder;
  readonly latestLeads: LatestLeads;
  readonly saleStore: SaleStore;
  /** The filter of stored sales, by `invoiceKey` and `buyerKey`. */
  readonly storedSales: StoredKeys;
  readonly backlog: Backlog;
}

/** The filter that one request may use instead of reading ClickHouse. */
interface FilterUse {
  readonly sales: KeyFilter | undefined;
  /** The mark that the commit must check; set once the request has relied on the filter. */
  mark?: FilterMark;
}

/** The customer, click and link that a sale is attributed to. */
interface Attribution {
  readonly customer: CustomerRecord;
  readonly click: EventRow;
  readonly link: LinkRecord;
  /** Rows that a direct sale records before its own: a customer and a lead, with the claim of the lead. */
  readonly rows: readonly QueuedRow[];
  readonly finals: readonly FinalClaim[];
  readonly state: readonly StateValue[];
  readonly isNewCustomer: boolean;
}

function responseCustomer(record: Pick<CustomerRecord, 'id' | 'name' | 'email' | 'avatar' | 'externalId'>) {
  return {
    id: record.id,
    name: customerName(record),
    email: record.email,
    avatar: record.avatar,
    externalId: record.externalId,
  };
}

/** `POST /track/sale`. */
export function createSaleTracker(trackerDeps: SaleTrackerDeps): SaleTracker {
  const { deps, customers, clicks, latestLeads, saleStore, storedSales, backlog } = trackerDeps;
  const { catalog, producer, currencies, now } = deps;

  /** Whether the filter shows that ClickHouse lacks the key. The commit then relies on the filter. */
  function lacks(use: FilterUse, key: string): boolean {
    if (!use.sales?.lacks(key)) return false;
    use.mark = use.sales.mark;
    return true;
  }

  /** The response to the first request with this invoice; undefined when there was none. */
  async function firstResponse(
    hold: HeldClaims,
    use: FilterUse,
    workspaceId: string,
    invoiceId: string,
  ): Promise<TrackedSale | undefined> {
    const stored = hold.finalValue(invoiceClaim(workspaceId, invoiceId));
    if (stored !== undefined) {
      const { linkId = null, ...response } = JSON.parse(stored) as InvoiceAnswer;
      return { response, storedLinkId: linkId };
    }
    if (lacks(use, invoiceKey(invoiceId))) return undefined;
    await backlog.check('sale', SALE_CLAIM_MS);
    const written = await saleStore.findByInvoice(workspaceId, invoiceId);
    if (written === undefined) return undefined;
    const { eventName, customerId, linkId, sale } = written;
    const record = await catalog.customers.get(workspaceId, customerId);
    const isErased = catalog.erasures.people.peek()?.modeOfId(workspaceId, customerId) !== undefined;
    const shown = isErased ? { ...sale, metadata: null } : sale;
    const response = { eventName, customer: responseCustomer(record ?? deletedCustomer(customerId)), sale: shown };
    return { response, storedLinkId: linkId };
  }

  async function attributeKnown(customer: CustomerRecord, body: TrackSaleBody): Promise<Attribution> {
    const leadName = body.leadEventName || undefined;
    const click = await latestLeads.find(customer, leadName);
    if (click === undefined) {
      const which = leadName === undefined ? 'lead' : `lead "${leadName}"`;
      throw new ApiError('not_found', `No ${which} found for the customer "${customer.externalId}".`);
    }
    const link = await linkOfClick(catalog, customer.workspaceId, click);
    return { customer, click, link, rows: [], finals: [], state: [], isNewCustomer: false };
  }

  /** Direct sale tracking: creates the customer from the click, and records a lead first. */
  async function attributeNew(workspaceId: string, body: TrackSaleBody, clickId: string): Promise<Attribution> {
    const { click, link } = await findClickAndLink(catalog, clicks, workspaceId, clickId);
    const customer = await customers.draft(workspaceId, body, click, link);
    const eventName = body.leadEventName || DIRECT_LEAD_NAME;
    const lead = { click, customerId: customer.id, eventName, metadata: body.metadata ?? null, quantity: 1 };
    const { row, state } = newCustomer(customer);
    return {
      customer,
      click,
      link,
      rows: [row, queuedLead(lead, now())],
      finals: [firstLeadClaim(customer, eventName, readClick(click).clickId)],
      state: [...state, ...latestLeads.state(customer, eventName, click)],
      isNewCustomer: true,
    };
  }

  /** `new` for the customer's first sale on the link, else `recurring`. Takes the claim of the first sale if it is free. */
  async function decideSaleType(
    hold: HeldClaims,
    use: FilterUse,
    name: string,
    attribution: Attribution,
  ): Promise<'new' | 'recurring'> {
    await hold.take([name]);
    if (!hold.isMine(name)) return 'recurring';
    if (attribution.isNewCustomer) return 'new';
    const { customer, link } = attribution;
    if (lacks(use, buyerKey(customer.id, link.id))) return 'new';
    await backlog.check('sale', SALE_CLAIM_MS);
    return (await saleStore.hasSale(customer.workspaceId, customer.id, link.id)) ? 'recurring' : 'new';
  }

  async function record(
    hold: HeldClaims,
    use: FilterUse,
    body: TrackSaleBody,
    attribution: Attribution,
  ): Promise<TrackSaleResponse> {
    const { customer, click, link } = attribution;
    const { eventName, paymentProcessor, metadata = null } = body;
    const invoiceId = body.invoiceId || null;
    const { amount, currency } = currencies.toUsd({ amount: body.amount, currency: body.currency });
    const response: TrackSaleResponse = {
      eventName,
      customer: responseCustomer(customer),
      sale: { amount, currency, paymentProcessor, invoiceId, metadata },
    };

    const firstSale = firstSaleClaim(customer.workspaceId, customer.id, link.id);
    const saleType = await decideSaleType(hold, use, firstSale, attribution);
    const nowMs = now();
    const row = saleRow(click, {
      eventId: createEventId(nowMs),
      eventName,
      timestampMs: nowMs,
      customerId: parseResourceId('customer', customer.id) ?? '0',
      metadata,
      amount,
      currency,
      invoiceId,
      paymentProcessor,
      saleType,
    });
    const invoice = invoiceId === null ? undefined : invoiceClaim(customer.workspaceId, invoiceId);
    const answer: InvoiceAnswer = { linkId: link.id, ...response };
    await producer.commit({
      rows: [...attribution.rows, { kind: 'sale', row }],
      finals: [
        ...customers.finalClaims(hold, customer),
        ...attribution.finals,
        ...(invoice === undefined ? [] : [hold.toFinal(invoice, JSON.stringify(answer), SALE_CLAIM_MS)]),
        ...(hold.isMine(firstSale) ? [hold.toFinal(firstSale, '1', SALE_CLAIM_MS)] : []),
      ],
      filterMark: use.mark,
      state: attribution.state,
    });
    return response;
  }

  function trackUnderClaims(workspaceId: string, body: TrackSaleBody, use: FilterUse): Promise<TrackedSale> {
    const { customerExternalId, eventName } = body;
    const invoiceId = body.invoiceId || undefined;
    const emptyResponse: TrackSaleResponse = { eventName, customer: null, sale: null };
    const names = [
      customerClaim(workspaceId, customerExternalId),
      ...(invoiceId === undefined ? [] : [invoiceClaim(workspaceId, invoiceId)]),
    ];

    return withClaims(producer.claims, now, async (hold) => {
      await hold.take(names);
      const [first, known] = await Promise.all([
        invoiceId === undefined ? undefined : firstResponse(hold, use, workspaceId, invoiceId),
        customers.find(hold, workspaceId, customerExternalId),
      ]);
      if (first !== undefined) return first;
      // A sale of 0 of a known customer records nothing, so it needs no lead to be attributed to.
      const isNothing = known === undefined ? !body.clickId : body.amount === 0;
      if (isNothing) return { response: emptyResponse };

      const attribution =
        known === undefined
          ? await attributeNew(workspaceId, body, body.clickId ?? '')
          : await attributeKnown(known, body);
      if (body.amount > 0) return { response: await record(hold, use, body, attribution) };
      const { rows, state, customer } = attribution;
      const finals = [...customers.finalClaims(hold, customer), ...attribution.finals];
      await producer.commit({ rows, finals, state });
      return { response: emptyResponse };
    });
  }

  return {
    async track(workspaceId, body) {
      // No filter without an amount: such a request may end without a commit, and only a commit checks the mark.
      const use: FilterUse = { sales: body.amount > 0 ? storedSales.filterOf(workspaceId) : undefined };
      try {
        return await trackUnderClaims(workspaceId, body, use);
      } catch (err) {
        if (!(err instanceof ClaimHeldError)) throw err;
        await storedSales.recheck(workspaceId);
        // Refused again when Redis has lost the claims.
        return orNotRecorded('second commit of a sale', trackUnderClaims(workspaceId, body, { sales: undefined }));
      }
    },
  };
}
