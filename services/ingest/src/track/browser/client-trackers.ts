import { setTimeout as delay } from 'node:timers/promises';
import { type LinkRecord, shortLinkOf } from '@waymark/catalog';
import { ApiError, type TrackLeadResponse } from '@waymark/contract';
import { CUSTOMER_CLAIM_MS, LATEST_LEAD_MS, LEAD_CLAIM_MS, SALE_CLAIM_MS } from '@waymark/event-queue';
import type { Backlog } from '../conversions/backlog.js';
import type { ClickFinder } from '../conversions/click-finder.js';
import { findClickAndLink } from '../conversions/click-link.js';
import type { LeadTracker } from '../conversions/lead-tracker.js';
import { echoSale, type SaleTracker } from '../conversions/sale-tracker.js';
import type { TrackDeps } from '../track-deps.js';
import { createTurns } from './turns.js';

/** The handlers of `POST /track/lead` and `POST /track/sale`. */
export interface Trackers {
  readonly leads: Pick<LeadTracker, 'track'>;
  readonly sales: SaleTracker;
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
}

/**
 * The same trackers for callers with a publishable key, which everybody can read in the page. They record the same events, but the
 * response contains only data from the request and what every visitor of the link can see. Whether a customer, an event or an invoice
 * exists changes neither status nor body: what a tracker refuses only if it records something is refused here before anything is looked up.
 */
export function createClientTrackers({ deps, clicks, backlog, leads, sales }: ClientTrackersDeps): Trackers {
  const { catalog, admission, currencies } = deps;
  /**
   * Calls for an unknown customer or invoice wait for each other, those for a known one need not. Without turns, the time of many calls at once
   * would reveal which it is.
   */
  const turns = createTurns();

  /** Refuses calls while the queue is so far behind that those for unknown customers, leads or invoices are refused. */
  async function checkBacklog(leadMs: number): Promise<void> {
    await Promise.all([
      backlog.check('customer', CUSTOMER_CLAIM_MS),
      backlog.check('lead', leadMs),
      backlog.check('sale', SALE_CLAIM_MS),
    ]);
  }

  /** Shows the destination only when every visitor would be admitted, else the short link. */
  async function publicLink(link: LinkRecord): Promise<TrackLeadResponse['link']> {
    const { id, domain, key } = link;
    const shortLink = shortLinkOf(domain, key);
    const url = (await admission.isOpen(link)) ? link.url : shortLink;
    return { id, domain, key, shortLink, url, partnerId: null, programId: null, tenantId: null, externalId: null };
  }

  return {
    leads: {
      async track(workspaceId, body) {
        const clickId = body.clickId ?? '';
        // An unknown click is rejected before the customer is looked up.
        const { click, link } = await findClickAndLink(catalog, clicks, workspaceId, clickId);
        await leads.checkSize(workspaceId, body, click, link);
        await checkBacklog(LEAD_CLAIM_MS);
        const names = [`${workspaceId} customer ${body.customerExternalId}`];
        await turns.run(names, () => hideDuration(leads.track(workspaceId, body)));
        return {
          click: { id: clickId },
          link: await publicLink(link),
          customer: {
            name: body.customerName ?? null,
            email: body.customerEmail ?? null,
            avatar: body.customerAvatar ?? null,
            externalId: body.customerExternalId,
          },
        };
      },
    },

    sales: {
      async track(workspaceId, body) {
        // Refuses an amount that is too large in USD.
        currencies.toUsd({ amount: body.amount, currency: body.currency });
        if (body.clickId) await findClickAndLink(catalog, clicks, workspaceId, body.clickId);
        await checkBacklog(LATEST_LEAD_MS);
        const track = () =>
          sales.track(workspaceId, body).catch((err: unknown) => {
            // A known customer without such a lead. An unknown customer gets no error, and both must get the same answer.
            if (!(err instanceof ApiError) || err.code !== 'not_found') throw err;
          });
        const { customerExternalId, invoiceId } = body;
        const names = [
          `${workspaceId} customer ${customerExternalId}`,
          ...(invoiceId ? [`${workspaceId} invoice ${invoiceId}`] : []),
        ];
        await turns.run(names, () => hideDuration(track()));
        return { response: echoSale(body) };
      },
    },
  };
}
