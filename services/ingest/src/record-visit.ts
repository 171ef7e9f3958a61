import type { ErasedPeopleReader } from '@waymark/catalog';
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
  /** The URL to record: the destination, or the page that a script reports, without the click id. */
  readonly url: string;
  readonly nowMs: number;
  /** Whether the click's id is passed on, so that a lead may refer to it. */
  readonly isPassedOn: boolean;
  /** People who were erased lately. Nothing may refer to a click that an erasure deletes. */
  readonly erased: Pick<ErasedPeopleReader, 'peek'>;
}

/** A visit that is being queued as a click. */
export interface VisitRecording {
  /** The id of the click if it is recorded now. If a click was recorded within the hour, `click` resolves to that one instead. */
  readonly clickId: string;
  /** The row of the click as it is queued. */
  readonly rowText: string;
  /** The click that counts for the visit. Rejects with ApiError when neither Redis nor the spool accepted it. */
  readonly click: Promise<RecordedClick>;
}

/** Whether an erasure deletes the click. */
export function isDeletedClick(erased: ClickDetails['erased'], workspaceId: string, clickId: string): boolean {
  return erased.peek()?.modeOfClickId(workspaceId, clickId) === 'delete';
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
  const record = async (claim: string): Promise<RecordedClick> => {
    const counted = await producer.recordClick({ claim, clickId, rowText, isFindable: details.isPassedOn });
    if (counted.isNew || !isDeletedClick(details.erased, prepared.link.workspaceId, counted.clickId)) return counted;
    // The claim of the deleted click expires within an hour. Until then the visitor's next click is recorded under another claim.
    return record(`${claim}:${counted.clickId}`);
  };
  return { clickId, rowText, click: record(visitClaim(prepared, visit)) };
}
