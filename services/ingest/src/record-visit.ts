import { clickRowText } from '@waymark/clickhouse';
import { createEventId, type Trigger } from '@waymark/contract';
import { clickClaim, type EventProducer } from '@waymark/event-queue';
import type { Visit } from '@waymark/visit';
import { recordedUrl } from './redirect/final-url.js';
import type { PreparedLink } from './redirect/prepared-link.js';

/** Whether a visit is a click at all (spec 7.4). */
export function isCountable(visit: Visit, isTracked: boolean): boolean {
  return isTracked && !visit.isBot && !visit.isPrefetch;
}

/** Name of the claim that lets a visitor be counted once an hour. */
export function visitClaim(prepared: PreparedLink, visit: Visit): string {
  return clickClaim(prepared.link.id, visit.identity);
}

/**
 * Records the visit as a click, unless the same visitor's was recorded within the hour.
 *
 * @param details.url destination without the click id
 * @returns the id of the click that stands for this visit
 * @throws ApiError when neither Redis nor the spool could keep it
 */
export function recordVisit(
  producer: Pick<EventProducer, 'recordClick'>,
  prepared: PreparedLink,
  visit: Visit,
  details: { readonly trigger: Trigger; readonly url: string; readonly nowMs: number },
): Promise<{ readonly clickId: string }> {
  const clickId = createEventId(details.nowMs);
  const rowText = clickRowText({
    workspaceId: prepared.workspaceNumber,
    linkId: prepared.linkNumber,
    clickId,
    timestampMs: details.nowMs,
    trigger: details.trigger,
    url: recordedUrl(details.url),
    country: visit.country,
    region: visit.region,
    city: visit.city,
    continent: visit.continent,
    device: visit.device,
    browser: visit.browser,
    os: visit.os,
    userAgent: visit.userAgent,
    referer: visit.referer,
    refererUrl: visit.refererUrl,
    ip: visit.ip,
  });
  return producer.recordClick({ claim: visitClaim(prepared, visit), clickId, rowText });
}
