import { createEventId, type Trigger } from '@waymark/contract';
import { clickRowText } from '@waymark/event-format';
import { clickClaim, type EventProducer, type RecordedClick } from '@waymark/event-queue';
import type { Visit } from '@waymark/visit';
import { recordedUrl } from './redirect/address/final-url.js';
import type { PreparedLink } from './redirect/rules/prepared-link.js';

/** Whether a visit counts as a click. */
export function isCountable(visit: Visit, isTracked: boolean): boolean {
  return isTracked && !visit.isBot && !visit.isPrefetch;
}

/** Name of the claim that limits a visitor to one click per link and hour. */
export function visitClaim(prepared: PreparedLink, visit: Visit): string {
  return clickClaim(prepared.link.id, visit.identity);
}

/** The fields of a click that do not come from its visitor. */
export interface ClickDetails {
  readonly trigger: Trigger;
  /** Destination without the click id. */
  readonly url: string;
  readonly nowMs: number;
  /** Whether the click's id is passed on, so that a lead may refer to it. */
  readonly isPassedOn: boolean;
}

/** A visit that is being queued as a click. */
export interface VisitRecording {
  /** The row of the click as it is queued. */
  readonly rowText: string;
  /** The click that the visit counts as. Rejects with ApiError when neither Redis nor the spool accepted it. */
  readonly click: Promise<RecordedClick>;
}

/** Records the visit as a click, unless a click of the same visitor was recorded within the hour. */
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
  return {
    rowText,
    click: producer.recordClick({
      claim: visitClaim(prepared, visit),
      clickId,
      rowText,
      isFindable: details.isPassedOn,
    }),
  };
}
