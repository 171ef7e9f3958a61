import { setTimeout as delay } from 'node:timers/promises';
import { type LinkRecord, shortLinkOf } from '@waymark/catalog';
import { ApiError, type TrackLeadResponse } from '@waymark/contract';
import type { ClickFinder } from '../conversions/click-finder.js';
import { findClickAndLink } from '../conversions/click-link.js';
import type { LeadTracker } from '../conversions/lead-tracker.js';
import { echoSale, type SaleTracker } from '../conversions/sale-tracker.js';
import type { TrackDeps } from '../track-deps.js';

/** The handlers of `POST /track/lead` and `POST /track/sale`. */
export interface Trackers {
  readonly leads: LeadTracker;
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

/**
 * The same trackers for callers with a publishable key, which everybody can read in the page. They record the same events, but the
 * response contains only data from the request and what every visitor of the link can see. Whether a customer, an event or an invoice
 * exists changes neither status nor body.
 */
export function createClientTrackers(
  { catalog, admission }: Pick<TrackDeps, 'catalog' | 'admission'>,
  clicks: ClickFinder,
  { leads, sales }: Trackers,
): Trackers {
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
        const { link } = await findClickAndLink(catalog, clicks, workspaceId, clickId);
        await hideDuration(leads.track(workspaceId, body));
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
        if (body.clickId) await findClickAndLink(catalog, clicks, workspaceId, body.clickId);
        const work = sales.track(workspaceId, body).catch((err: unknown) => {
          // A known customer without such a lead. An unknown customer gets no error, and both must get the same answer.
          if (!(err instanceof ApiError) || err.code !== 'not_found') throw err;
        });
        await hideDuration(work);
        return { response: echoSale(body) };
      },
    },
  };
}
