import { createEventId } from '@waymark/contract';
import type { EventProducer } from '@waymark/event-queue';
import type { Visit } from '@waymark/visit';
import type { FreshClicks } from '../fresh-clicks.js';
import { isCountable, recordVisit } from '../record-visit.js';
import type { PreparedLink } from './rules/prepared-link.js';

/** A visit that may be a click. */
export interface CountedVisit {
  readonly prepared: PreparedLink;
  readonly visit: Visit;
  readonly nowMs: number;
  readonly isTracked: boolean;
  readonly isScan: boolean;
  /** Destination without the click id. */
  readonly url: string;
}

export interface ClickCounterDeps {
  readonly producer: Pick<EventProducer, 'recordClick'>;
  readonly freshClicks: Pick<FreshClicks, 'add'>;
  readonly logger: { error(context: object, message: string): void };
}

/** The click that stands for a visit. */
export interface CountedClick {
  readonly clickId: string;
  /** False for an id that stands for nothing: a visit that does not count, or a click that could not be kept. */
  readonly isKept: boolean;
}

/**
 * Counts visits of links: the visit's click id is that of the click recorded now or within the hour, else a new one. Never
 * rejects: the visitor goes on whatever happens to the click.
 */
export function createClickCounter(deps: ClickCounterDeps) {
  return async ({ prepared, visit, nowMs, isTracked, isScan, url }: CountedVisit): Promise<CountedClick> => {
    if (!isCountable(visit, isTracked)) return { clickId: createEventId(nowMs), isKept: false };
    try {
      const trigger = isScan ? 'qr' : 'link';
      const recording = recordVisit(deps.producer, prepared, visit, { trigger, url, nowMs });
      const { clickId, recorded } = await recording.click;
      // Who follows the other links is never told the id, and names it in no lead.
      if (recorded && prepared.passesClickId) deps.freshClicks.add(clickId, recording.rowText);
      return { clickId, isKept: true };
    } catch (err) {
      const { id: linkId, workspaceId } = prepared.link;
      deps.logger.error({ err, linkId, workspaceId }, 'a click could not be kept');
      return { clickId: createEventId(nowMs), isKept: false };
    }
  };
}
