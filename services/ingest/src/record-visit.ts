import { createEventId, type Trigger } from '@waymark/contract';
import { clickRowText } from '@waymark/event-format';
import { clickClaim, type EventProducer, type RecordedClick } from '@waymark/event-queue';
import type { Visit } from '@waymark/visit';
import { recordedUrl } from './redirect/address/final-url.js';
import type { PreparedLink } from './redirect/rules/prepared-link.js';

/** Whether a visit is a click at all. */
export function isCountable(visit: Visit, isTracked: boolean): boolean {
  return isTracked && !visit.isBot && !visit.isPrefetch;
}

/** Name of the claim that lets a visitor be counted once an hour. */
export function visitClaim(prepared: PreparedLink, visit: Visit): string {
  return clickClaim(prepared.link.id, visit.identity);
}

/** What a visit's click is besides its visitor's. */
export interface ClickDetails {
  readonly trigger: Trigger;
  /** Destination without the click id. */
  readonly url: string;
  readonly nowMs: number;
}

/** A visit on its way into the queue. */
export interface VisitRecording {
  /** The row of its click, as the queue carries it. */
  readonly rowText: string;
  /** The click that stands for the visit. Rejects with ApiError when neither Redis nor the spool could keep it. */
  readonly click: Promise<RecordedClick>;
}

/** Records the visit as a click, unless the same visitor's was recorded within the hour. */
export function recordVisit(
  producer: Pick<EventProducer, 'recordClick'>,
  prepared: PreparedLink,
  visit: Visit,
  details: ClickDetails,
): VisitRecording {
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
  return { rowText, click: producer.recordClick({ claim: visitClaim(prepared, visit), clickId, rowText }) };
}
