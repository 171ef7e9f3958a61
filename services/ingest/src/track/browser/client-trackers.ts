import { setTimeout as pause } from 'node:timers/promises';
import { type LinkRecord, shortLinkOf } from '@waymark/catalog';
import { ApiError, type TrackLeadResponse } from '@waymark/contract';
import type { ClickFinder } from '../conversions/click-finder.js';
import { clickedLink } from '../conversions/click-link.js';
import type { LeadTracker } from '../conversions/lead-tracker.js';
import { type SaleTracker, saleAsSent } from '../conversions/sale-tracker.js';
import type { TrackDeps } from '../track-deps.js';

/** What `POST /track/lead` and `POST /track/sale` do. */
export interface Trackers {
  readonly leads: LeadTracker;
  readonly sales: SaleTracker;
}

/**
 * Client routes answer this long after their work began, or a multiple of it: response times below it would reveal whether a
 * customer or an invoice is stored.
 */
const ANSWER_STEP_MS = 100;

async function atNextStep<T>(work: Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const [outcome] = await Promise.allSettled([work]);
  await pause(ANSWER_STEP_MS - ((performance.now() - startedMs) % ANSWER_STEP_MS));
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

/**
 * The same trackers for callers whose key stands in a page for everybody to read: they record all the same, but
 * answer what the request itself says and what whoever follows the link can see. A customer, an event or an invoice that is
 * known changes neither status nor body.
 */
export function createClientTrackers(
  { catalog, admission }: Pick<TrackDeps, 'catalog' | 'admission'>,
  clicks: ClickFinder,
  { leads, sales }: Trackers,
): Trackers {
  /** The destination only if every visit is let through; else the short link. */
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
        // A click that is not there is refused before anything is known of its customer.
        const { link } = await clickedLink(catalog, clicks, workspaceId, clickId);
        await atNextStep(leads.track(workspaceId, body));
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
        if (body.clickId) await clickedLink(catalog, clicks, workspaceId, body.clickId);
        const work = sales.track(workspaceId, body).catch((err: unknown) => {
          // A known customer without such a lead: an unknown one is no error either.
          if (!(err instanceof ApiError) || err.code !== 'not_found') throw err;
        });
        await atNextStep(work);
        return { answer: saleAsSent(body) };
      },
    },
  };
}
