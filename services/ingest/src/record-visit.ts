import { clickRowText } from '@waymark/clickhouse';
import { createEventId, type Trigger } from '@waymark/contract';
import { clickClaim, type EventProducer } from '@waymark/event-queue';
import type { Visit } from '@waymark/visit';
import type { FreshClicks } from './fresh-clicks.js';
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

export interface RecordVisitDeps {
  readonly producer: Pick<EventProducer, 'recordClick'>;
  readonly freshClicks: Pick<FreshClicks, 'add'>;
}

/** What a visit's click is besides its visitor's. */
export interface ClickDetails {
  readonly trigger: Trigger;
  /** Destination without the click id. */
  readonly url: string;
  readonly nowMs: number;
  /** Whether anybody is told the click's id, and may name it in a lead. */
  readonly isIdGiven: boolean;
}

/**
 * Records the visit as a click, unless the same visitor's was recorded within the hour.
 *
 * @returns the id of the click that stands for this visit
 * @throws ApiError when neither Redis nor the spool could keep it
 */
export function recordVisit(
  { producer, freshClicks }: RecordVisitDeps,
  prepared: PreparedLink,
  visit: Visit,
  details: ClickDetails,
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
  const recording = producer.recordClick({ claim: visitClaim(prepared, visit), clickId, rowText });
  if (!details.isIdGiven) return recording;
  return recording.then((click) => {
    if (click.recorded) freshClicks.add(clickId, rowText);
    return click;
  });
}
