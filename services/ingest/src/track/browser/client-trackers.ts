import { setTimeout as delay } from 'node:timers/promises';
import { type LinkRecord, shortLinkOf } from '@waymark/catalog';
import {
  ApiError,
  type TrackLeadBody,
  type TrackLeadResponse,
  type TrackSaleBody,
  type TrackSaleResponse,
} from '@waymark/contract';
import { CUSTOMER_CLAIM_MS, LATEST_LEAD_MS, LEAD_CLAIM_MS, SALE_CLAIM_MS } from '@waymark/event-queue';
import type { Backlog } from '../conversions/backlog.js';
import type { ClickFinder } from '../conversions/click-finder.js';
import { findClickAndLink } from '../conversions/click-link.js';
import type { LeadTracker } from '../conversions/lead-tracker.js';
import { echoSale, type SaleTracker } from '../conversions/sale-tracker.js';
import type { TrackDeps } from '../track-deps.js';
import type { KeyedMutex } from './keyed-mutex.js';

/** A caller with a publishable key. */
export interface ClientCaller {
  readonly workspaceId: string;
  /** The network of its address, for which its calls are limited. */
  readonly network: string;
}

/** The handlers of `POST /track/lead/client` and `POST /track/sale/client`. */
export interface ClientTrackers {
  /** @throws ApiError */
  trackLead(caller: ClientCaller, body: TrackLeadBody): Promise<TrackLeadResponse>;
  /** @throws ApiError */
  trackSale(caller: ClientCaller, body: TrackSaleBody): Promise<TrackSaleResponse>;
}

/**
 * Responses of client routes are delayed to the next multiple of this time: exact times would reveal whether a customer or an
 * invoice exists.
 */
const RESPONSE_STEP_MS = 100;

async function hideDuration<T>(work: Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const [outcome] = await Promise.allSettled([work]);
  await delay(RESPONSE_STEP_MS - ((performance.now() - startedMs) % RESPONSE_STEP_MS));
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

export interface ClientTrackersDeps {
  readonly deps: Pick<TrackDeps, 'catalog' | 'admission' | 'currencies'>;
  readonly clicks: ClickFinder;
  readonly backlog: Backlog;
  readonly leads: LeadTracker;
  readonly sales: SaleTracker;
  readonly mutex: KeyedMutex;
}

/**
 * Trackers for callers with a publishable key, which everybody can read in the page. They record the same events as those of servers, but the
 * response contains only data from the request and what every visitor of the link can see. Whether a customer, an event or an invoice
 * exists changes neither status nor body: what a tracker refuses only if it records something is refused here before customers and invoices
 * are looked up.
 *
 * Calls for an unknown customer or invoice wait for each other, and those for a known one do not, so the time of many calls at once would
 * reveal which it is. Hence the calls of one network for one customer or invoice run one after another. Those of other networks never wait for them.
 */
export function createClientTrackers(options: ClientTrackersDeps): ClientTrackers {
  const { deps, clicks, backlog, leads, sales, mutex } = options;
  const { catalog, admission, currencies } = deps;

  /** Refuses leads while the queue is so far behind that those of unknown customers are refused. */
  async function checkLeadBacklog(): Promise<void> {
    await Promise.all([backlog.check('customer', CUSTOMER_CLAIM_MS), backlog.check('lead', LEAD_CLAIM_MS)]);
  }

  /** Refuses sales while the queue is so far behind that those of unknown customers, leads or invoices are refused. */
  async function checkSaleBacklog(): Promise<void> {
    await Promise.all([
      backlog.check('customer', CUSTOMER_CLAIM_MS),
      backlog.check('lead', LATEST_LEAD_MS),
      backlog.check('sale', SALE_CLAIM_MS),
    ]);
  }

  /** Runs the task after all earlier calls of the network for the customer or the invoice. Its time is hidden. */
  function afterEarlierCalls<T>(
    { workspaceId, network }: ClientCaller,
    { customerExternalId, invoiceId }: { readonly customerExternalId: string; readonly invoiceId?: string | null },
    task: () => Promise<T>,
  ): Promise<T> {
    const keys = [`${workspaceId} ${network} customer ${customerExternalId}`];
    if (invoiceId) keys.push(`${workspaceId} ${network} invoice ${invoiceId}`);
    return mutex.run(keys, () => hideDuration(task()));
  }

  /** Shows the destination only when every visitor would be admitted, else the short link. */
  async function publicLink(link: LinkRecord): Promise<TrackLeadResponse['link']> {
    const { id, domain, key } = link;
    const shortLink = shortLinkOf(domain, key);
    const url = (await admission.isOpen(link)) ? link.url : shortLink;
    return { id, domain, key, shortLink, url, partnerId: null, programId: null, tenantId: null, externalId: null };
  }

  return {
    async trackLead(caller, body) {
      const { workspaceId } = caller;
      const clickId = body.clickId ?? '';
      // An unknown click is rejected before the customer is looked up.
      const { click, link } = await findClickAndLink(catalog, clicks, workspaceId, clickId);
      await leads.checkSize(workspaceId, body, click, link);
      await checkLeadBacklog();
      const { customerExternalId } = body;
      await afterEarlierCalls(caller, { customerExternalId }, () => leads.track(workspaceId, body));
      return {
        click: { id: clickId },
        link: await publicLink(link),
        customer: {
          name: body.customerName || null,
          email: body.customerEmail || null,
          avatar: body.customerAvatar || null,
          externalId: customerExternalId,
        },
      };
    },

    async trackSale(caller, body) {
      const { workspaceId } = caller;
      // Refuses an amount that is too large in USD.
      currencies.toUsd({ amount: body.amount, currency: body.currency });
      if (body.clickId) await findClickAndLink(catalog, clicks, workspaceId, body.clickId);
      await checkSaleBacklog();
      await afterEarlierCalls(caller, body, () =>
        sales.track(workspaceId, body).catch((err: unknown) => {
          // A known customer without such a lead. An unknown customer gets no error, and both must get the same answer.
          if (!(err instanceof ApiError) || err.code !== 'not_found') throw err;
        }),
      );
      return echoSale(body);
    },
  };
}
