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
import { customerClaim, firstSaleClaim, invoiceClaim, type QueuedRow, type StateValue } from '@waymark/event-queue';
import type { TrackDeps } from '../track-deps.js';
import type { Backlog } from './backlog.js';
import { type ClaimHold, withClaims } from './claim-hold.js';
import type { ClickFinder } from './click-finder.js';
import { clickedLink, linkOfClick } from './click-link.js';
import { newCustomer, type TrackedCustomers } from './customers.js';
import type { LatestLeads } from './latest-leads.js';
import { leadRows } from './lead-rows.js';
import type { SaleStore } from './sale-store.js';

/** Longer than a sale takes to reach ClickHouse; after that invoices and first sales are looked up there. */
const REMEMBERED_MS = 24 * 3_600_000;
const DIRECT_LEAD_NAME = 'Direct sale tracking lead event';

/** The answer to a sale. A repeated invoice is answered with the sale that was stored first. */
export interface TrackedSale {
  readonly answer: TrackSaleResponse;
  /** Set for a repeat: the link of the stored sale, `null` where it was stored without one. */
  readonly storedFor?: string | null;
}

export interface SaleTracker {
  /** @throws ApiError */
  track(workspaceId: string, body: TrackSaleBody): Promise<TrackedSale>;
}

/** An answer that holds what the request said and nothing of what is stored. */
export function saleAsSent(body: TrackSaleBody): TrackSaleResponse {
  const { eventName, amount, currency, paymentProcessor, metadata = null } = body;
  const invoiceId = body.invoiceId || null;
  // A customer always has an id, which the caller may not have.
  return {
    eventName,
    customer: null,
    sale: amount === 0 ? null : { amount, currency, paymentProcessor, invoiceId, metadata },
  };
}

export interface SaleTrackerParts {
  readonly deps: TrackDeps;
  readonly customers: TrackedCustomers;
  readonly clicks: ClickFinder;
  readonly leads: LatestLeads;
  readonly sales: SaleStore;
  readonly backlog: Backlog;
}

/** Whom and what a sale belongs to. */
interface Attribution {
  readonly customer: CustomerRecord;
  readonly click: EventRow;
  readonly link: LinkRecord;
  /** What a direct sale records before itself. */
  readonly rows: readonly QueuedRow[];
  readonly state: readonly StateValue[];
  readonly isNewCustomer: boolean;
}

function answeredCustomer(record: Pick<CustomerRecord, 'id' | 'name' | 'email' | 'avatar' | 'externalId'>) {
  return {
    id: record.id,
    name: customerName(record),
    email: record.email,
    avatar: record.avatar,
    externalId: record.externalId,
  };
}

/** `POST /track/sale`. */
export function createSaleTracker(parts: SaleTrackerParts): SaleTracker {
  const { customers, clicks, leads, sales, backlog } = parts;
  const { catalog, producer, currencies, now } = parts.deps;

  /** The answer to the invoice's first request, when there was one. */
  async function firstAnswer(
    hold: ClaimHold,
    workspaceId: string,
    invoiceId: string,
  ): Promise<TrackedSale | undefined> {
    const stored = hold.finalValue(invoiceClaim(workspaceId, invoiceId));
    if (stored !== undefined) {
      const { linkId = null, ...answer } = JSON.parse(stored) as TrackSaleResponse & { readonly linkId?: string };
      return { answer, storedFor: linkId };
    }
    await backlog.check('sale', REMEMBERED_MS);
    const written = await sales.findByInvoice(workspaceId, invoiceId);
    if (written === undefined) return undefined;
    const { eventName, customerId, linkId, sale } = written;
    const record = await catalog.customers.get(workspaceId, customerId);
    const answer = { eventName, customer: answeredCustomer(record ?? deletedCustomer(customerId)), sale };
    return { answer, storedFor: linkId };
  }

  async function attributeKnown(
    customer: CustomerRecord,
    body: TrackSaleBody,
    remembered: Promise<string | undefined>,
  ): Promise<Attribution> {
    const leadName = body.leadEventName || undefined;
    const click = await leads.find(customer, leadName, remembered);
    if (click === undefined) {
      const which = leadName === undefined ? 'lead' : `lead "${leadName}"`;
      throw new ApiError('not_found', `No ${which} found for the customer "${customer.externalId}".`);
    }
    const link = await linkOfClick(catalog, customer.workspaceId, click);
    return { customer, click, link, rows: [], state: [], isNewCustomer: false };
  }

  /** Direct sale tracking: the click brings the customer, and a lead is recorded first. */
  async function attributeNew(workspaceId: string, body: TrackSaleBody, clickId: string): Promise<Attribution> {
    const { click, link } = await clickedLink(catalog, clicks, workspaceId, clickId);
    const customer = customers.draft(workspaceId, body, click, link);
    const eventName = body.leadEventName || DIRECT_LEAD_NAME;
    const lead = { click, customerId: customer.id, eventName, metadata: body.metadata ?? null, quantity: 1 };
    const { row, state } = newCustomer(customer);
    return {
      customer,
      click,
      link,
      rows: [row, ...leadRows(lead, now())],
      state: [...state, ...leads.state(customer, eventName, click)],
      isNewCustomer: true,
    };
  }

  /** `new` for the first accepted sale of the customer on the link; the claim is then ours. */
  async function decideSaleType(hold: ClaimHold, name: string, attribution: Attribution): Promise<'new' | 'recurring'> {
    await hold.take([name]);
    if (!hold.isMine(name)) return 'recurring';
    if (attribution.isNewCustomer) return 'new';
    const { customer, link } = attribution;
    await backlog.check('sale', REMEMBERED_MS);
    return (await sales.hasSale(customer.workspaceId, customer.id, link.id)) ? 'recurring' : 'new';
  }

  async function record(hold: ClaimHold, body: TrackSaleBody, attribution: Attribution): Promise<TrackSaleResponse> {
    const { customer, click, link } = attribution;
    const { eventName, paymentProcessor, metadata = null } = body;
    const invoiceId = body.invoiceId || null;
    const { amount, currency } = currencies.toUsd({ amount: body.amount, currency: body.currency });
    const answer: TrackSaleResponse = {
      eventName,
      customer: answeredCustomer(customer),
      sale: { amount, currency, paymentProcessor, invoiceId, metadata },
    };

    const firstSale = firstSaleClaim(customer.workspaceId, customer.id, link.id);
    const saleType = await decideSaleType(hold, firstSale, attribution);
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
    await producer.commit({
      rows: [...attribution.rows, { kind: 'sale', row }],
      finals: [
        ...customers.finals(hold, customer),
        ...(invoice === undefined
          ? []
          : [hold.toFinal(invoice, JSON.stringify({ ...answer, linkId: link.id }), REMEMBERED_MS)]),
        ...(hold.isMine(firstSale) ? [hold.toFinal(firstSale, '1', REMEMBERED_MS)] : []),
      ],
      state: attribution.state,
    });
    return answer;
  }

  return {
    track(workspaceId, body) {
      const { customerExternalId, eventName } = body;
      const invoiceId = body.invoiceId || undefined;
      const nothing: TrackSaleResponse = { eventName, customer: null, sale: null };
      const names = [
        customerClaim(workspaceId, customerExternalId),
        ...(invoiceId === undefined ? [] : [invoiceClaim(workspaceId, invoiceId)]),
      ];

      return withClaims(producer.claims, now, async (hold) => {
        const remembered = leads.remembered(workspaceId, customerExternalId, body.leadEventName || undefined);
        // It may fail before anyone waits for it.
        remembered.catch(() => undefined);
        await hold.take(names);
        const [first, known] = await Promise.all([
          invoiceId === undefined ? undefined : firstAnswer(hold, workspaceId, invoiceId),
          customers.find(hold, workspaceId, customerExternalId),
        ]);
        if (first !== undefined) return first;
        if (known === undefined && !body.clickId) return { answer: nothing };

        const attribution =
          known === undefined
            ? await attributeNew(workspaceId, body, body.clickId ?? '')
            : await attributeKnown(known, body, remembered);
        if (body.amount > 0) return { answer: await record(hold, body, attribution) };
        if (attribution.isNewCustomer) {
          const { rows, state, customer } = attribution;
          await producer.commit({ rows, finals: customers.finals(hold, customer), state });
        }
        return { answer: nothing };
      });
    },
  };
}
