import { type CustomerRecord, customerName } from '@waymark/catalog';
import {
  ApiError,
  createEventId,
  deletedCustomer,
  parseResourceId,
  type TrackSaleBody,
  type TrackSaleResponse,
} from '@waymark/contract';
import { saleRow } from '@waymark/event-format';
import {
  ClaimHeldError,
  type ClaimState,
  customerClaim,
  type FinalClaim,
  firstSaleClaim,
  type HistoryKeeper,
  invoiceClaim,
} from '@waymark/event-queue';
import type { TrackDeps } from '../track-deps.js';
import type { Backlog } from './backlog.js';
import type { TrackedCustomers } from './customers.js';
import { type HeldClaims, withClaims } from './held-claims.js';
import type { LatestLeads } from './latest-leads.js';
import type { Attribution, SaleAttribution } from './sale-attribution.js';
import type { SaleStore } from './sale-store.js';

/** Longer than a sale takes to reach ClickHouse, where invoices and first sales are looked up afterwards. */
const CLAIM_TTL_MS = 24 * 3_600_000;

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
  readonly deps: TrackDeps;
  readonly customers: TrackedCustomers;
  readonly attribution: SaleAttribution;
  readonly leads: Pick<LatestLeads, 'readRecent'>;
  readonly sales: SaleStore;
  readonly histories: Pick<HistoryKeeper, 'note'>;
  readonly backlog: Backlog;
}

/** Whether a sale is its customer's first on its link, and the claim of that for the commit, if it is to be made final. */
interface SaleType {
  readonly saleType: 'new' | 'recurring';
  readonly firstSale: FinalClaim | undefined;
}

/** The value of an invoice's claim: the response, the link, and a text that no other commit has. */
type StoredResponse = TrackSaleResponse & { readonly linkId?: string; readonly commit?: string };

const FREE: ClaimState = { state: 'free' };

function responseCustomer(record: Pick<CustomerRecord, 'id' | 'name' | 'email' | 'avatar' | 'externalId'>) {
  return {
    id: record.id,
    name: customerName(record),
    email: record.email,
    avatar: record.avatar,
    externalId: record.externalId,
  };
}

const isUnseen = (claim: ClaimState) => claim.state === 'free' && claim.isUnseen === true;
const firstSaleOf = ({ customer, link }: Attribution) => firstSaleClaim(customer.workspaceId, customer.id, link.id);

/** `POST /track/sale`. */
export function createSaleTracker(trackerDeps: SaleTrackerDeps): SaleTracker {
  const { deps, customers, attribution, leads, sales, histories, backlog } = trackerDeps;
  const { catalog, producer, currencies, now } = deps;

  /** The response to the first request with this invoice; undefined when there was none. */
  async function firstResponse(
    hold: HeldClaims,
    workspaceId: string,
    invoiceId: string,
  ): Promise<TrackedSale | undefined> {
    const name = invoiceClaim(workspaceId, invoiceId);
    const stored = hold.finalValue(name);
    if (stored !== undefined) {
      const { linkId = null, eventName, customer, sale } = JSON.parse(stored) as StoredResponse;
      return { response: { eventName, customer, sale }, storedLinkId: linkId };
    }
    if (hold.isUnseen(name)) return undefined;
    histories.note('sales', workspaceId);
    await backlog.check('sale', CLAIM_TTL_MS);
    const written = await sales.findByInvoice(workspaceId, invoiceId);
    if (written === undefined) return undefined;
    const { eventName, customerId, linkId, sale } = written;
    const record = await catalog.customers.get(workspaceId, customerId);
    const response = { eventName, customer: responseCustomer(record ?? deletedCustomer(customerId)), sale };
    return { response, storedLinkId: linkId };
  }

  /** Whether ClickHouse has no sale of the customer on the link. */
  async function isFirstSale({ customer, link }: Attribution): Promise<boolean> {
    histories.note('sales', customer.workspaceId);
    await backlog.check('sale', CLAIM_TTL_MS);
    return !(await sales.hasSale(customer.workspaceId, customer.id, link.id));
  }

  /** `new` for the customer's first sale on the link, whose claim this request then holds. */
  async function takeFirstSale(hold: HeldClaims, sale: Attribution): Promise<SaleType> {
    const name = firstSaleOf(sale);
    await hold.take([name]);
    if (!hold.isMine(name)) return { saleType: 'recurring', firstSale: undefined };
    const isFirst = sale.isNewCustomer || hold.isUnseen(name) || (await isFirstSale(sale));
    return {
      saleType: isFirst ? 'new' : 'recurring',
      firstSale: hold.toFinal(name, createEventId(now()), CLAIM_TTL_MS),
    };
  }

  /** The same with a claim that the commit takes. @throws ClaimHeldError while another request holds it */
  async function lookUpFirstSale(sale: Attribution): Promise<SaleType> {
    const name = firstSaleOf(sale);
    const claim = { name, owner: undefined, value: createEventId(now()), ttlMs: CLAIM_TTL_MS };
    if (sale.isNewCustomer) return { saleType: 'new', firstSale: claim };
    const [state = FREE] = await producer.claims.lookUp([name]);
    if (state.state === 'final') return { saleType: 'recurring', firstSale: undefined };
    if (state.state !== 'free') throw new ClaimHeldError();
    if (isUnseen(state)) return { saleType: 'new', firstSale: { ...claim, mustBeUnseen: true } };
    return { saleType: (await isFirstSale(sale)) ? 'new' : 'recurring', firstSale: claim };
  }

  /**
   * Records the sale.
   *
   * @param invoiceFinal makes the final claim of the invoice from the response that it is to hold
   */
  async function record(
    body: TrackSaleBody,
    sale: Attribution,
    { saleType, firstSale }: SaleType,
    customerFinals: readonly FinalClaim[],
    invoiceFinal: (value: string) => readonly FinalClaim[],
  ): Promise<TrackSaleResponse> {
    const { customer, click, link } = sale;
    const { eventName, paymentProcessor, metadata = null } = body;
    const invoiceId = body.invoiceId || null;
    const { amount, currency } = currencies.toUsd({ amount: body.amount, currency: body.currency });
    const response: TrackSaleResponse = {
      eventName,
      customer: responseCustomer(customer),
      sale: { amount, currency, paymentProcessor, invoiceId, metadata },
    };
    const nowMs = now();
    const eventId = createEventId(nowMs);
    const row = saleRow(click, {
      eventId,
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
    await producer.commit({
      rows: [...sale.rows, { kind: 'sale', row }],
      finals: [
        ...customerFinals,
        ...invoiceFinal(JSON.stringify({ ...response, linkId: link.id, commit: eventId } satisfies StoredResponse)),
        ...(firstSale === undefined ? [] : [firstSale]),
      ],
      state: sale.state,
    });
    return response;
  }

  /**
   * The fast path: reads the claims, and takes them in the transaction that records the sale. For sales of customers whose claim is in
   * Redis, and of new customers; while the histories of the workspace are complete, ClickHouse is asked nothing. Returns undefined when
   * the sale must be tracked with claims held.
   */
  async function trackUnheld(workspaceId: string, body: TrackSaleBody): Promise<TrackedSale | undefined> {
    const { customerExternalId, eventName } = body;
    const invoiceName = body.invoiceId ? invoiceClaim(workspaceId, body.invoiceId) : undefined;
    const customer = customerClaim(workspaceId, customerExternalId);
    const recentLead = leads.readRecent(workspaceId, customerExternalId, body.leadEventName || undefined);
    // Prevents an unhandled rejection when it fails before it is awaited.
    recentLead.catch(() => undefined);
    const [customerState = FREE, invoiceState] = await producer.claims.lookUp(
      invoiceName === undefined ? [customer] : [customer, invoiceName],
    );
    if (invoiceState !== undefined && !isUnseen(invoiceState)) return undefined;
    const known = customerState.state === 'final' ? (JSON.parse(customerState.value) as CustomerRecord) : undefined;
    if (known === undefined && !isUnseen(customerState)) return undefined;
    const emptyResponse: TrackSaleResponse = { eventName, customer: null, sale: null };
    if (known === undefined && !body.clickId) return { response: emptyResponse };
    try {
      const sale =
        known === undefined
          ? await attribution.ofNew(workspaceId, body, body.clickId ?? '')
          : await attribution.ofKnown(known, body, recentLead);
      const customerFinals = [
        customerState.state === 'final'
          ? customers.knownClaim(sale.customer, customerState.value)
          : customers.newClaim(sale.customer, customerState),
      ];
      if (body.amount > 0) {
        const invoiceFinal = (value: string) =>
          invoiceName === undefined
            ? []
            : [{ name: invoiceName, owner: undefined, mustBeUnseen: true, value, ttlMs: CLAIM_TTL_MS }];
        return { response: await record(body, sale, await lookUpFirstSale(sale), customerFinals, invoiceFinal) };
      }
      if (sale.isNewCustomer) {
        await producer.commit({ rows: sale.rows, finals: customerFinals, state: sale.state });
      }
      return { response: emptyResponse };
    } catch (err) {
      if (err instanceof ClaimHeldError) return undefined;
      // Whoever waits for a claim may find what is just being recorded.
      if (err instanceof ApiError && err.code === 'not_found') return undefined;
      throw err;
    }
  }

  /** Tracks a sale with its claims held, which also waits for a concurrent request and answers repeated invoices. */
  function trackUnderClaims(workspaceId: string, body: TrackSaleBody): Promise<TrackedSale> {
    const { customerExternalId, eventName } = body;
    const invoiceId = body.invoiceId || undefined;
    const emptyResponse: TrackSaleResponse = { eventName, customer: null, sale: null };
    const names = [
      customerClaim(workspaceId, customerExternalId),
      ...(invoiceId === undefined ? [] : [invoiceClaim(workspaceId, invoiceId)]),
    ];

    return withClaims(producer.claims, now, async (hold) => {
      const recentLead = leads.readRecent(workspaceId, customerExternalId, body.leadEventName || undefined);
      // Prevents an unhandled rejection when it fails before it is awaited.
      recentLead.catch(() => undefined);
      await hold.take(names);
      const [first, known] = await Promise.all([
        invoiceId === undefined ? undefined : firstResponse(hold, workspaceId, invoiceId),
        customers.find(hold, workspaceId, customerExternalId),
      ]);
      if (first !== undefined) return first;
      if (known === undefined && !body.clickId) return { response: emptyResponse };

      const sale =
        known === undefined
          ? await attribution.ofNew(workspaceId, body, body.clickId ?? '')
          : await attribution.ofKnown(known, body, recentLead);
      if (body.amount > 0) {
        const type = await takeFirstSale(hold, sale);
        const customerFinals = customers.finalClaims(hold, sale.customer);
        const invoiceFinal = (value: string) =>
          invoiceId === undefined ? [] : [hold.toFinal(invoiceClaim(workspaceId, invoiceId), value, CLAIM_TTL_MS)];
        return { response: await record(body, sale, type, customerFinals, invoiceFinal) };
      }
      if (sale.isNewCustomer) {
        await producer.commit({
          rows: sale.rows,
          finals: customers.finalClaims(hold, sale.customer),
          state: sale.state,
        });
      }
      return { response: emptyResponse };
    });
  }

  return {
    track: async (workspaceId, body) =>
      (await trackUnheld(workspaceId, body)) ?? (await trackUnderClaims(workspaceId, body)),
  };
}
