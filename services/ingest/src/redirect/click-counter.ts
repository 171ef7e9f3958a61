import type { Catalog } from '@waymark/catalog';
import { createEventId } from '@waymark/contract';
import type { Visit } from '@waymark/visit';
import { clickProducer, type ProducerDeps } from '../click-producer.js';
import type { FreshClicks } from '../fresh-clicks.js';
import { outageLog } from '../outage-log.js';
import { isCountable, recordVisit } from '../record-visit.js';
import type { PreparedLink } from './rules/prepared-link.js';

/** A visit to count as a click, if it qualifies. */
export interface CountedVisit {
  readonly prepared: PreparedLink;
  readonly visit: Visit;
  readonly nowMs: number;
  /** False for a visit with `dub-no-track`, and for a visitor who asks not to be tracked, where the workspace is set to respect that. */
  readonly isTracked: boolean;
  readonly isScan: boolean;
  /** False for a visitor who asks not to be identified: the click's id is not passed on. */
  readonly isIdentified: boolean;
  /** Destination without the click id. */
  readonly url: string;
}

export interface ClickCounterDeps extends ProducerDeps {
  readonly freshClicks: Pick<FreshClicks, 'add'>;
  readonly catalog: ProducerDeps['catalog'] & { readonly erasures: Pick<Catalog['erasures'], 'people'> };
  readonly logger: { error(context: object, message: string): void };
}

/** The click that counts for a visit, or an id under which none is stored. */
export interface CountedClick {
  readonly clickId: string;
  /** False for an id without a recorded click: the visit does not count, or recording failed. */
  readonly isRecorded: boolean;
}

/**
 * Counts visits of links. For each it returns the click that is recorded now or was within the last hour, else an unrecorded one, with an id
 * under which no click is stored, unless a later attempt stores it. Never rejects: the visitor is redirected even when recording fails.
 */
export function createClickCounter(deps: ClickCounterDeps) {
  const erased = deps.catalog.erasures.people;
  const logUnrecorded = outageLog((context, message) => deps.logger.error(context, message));
  return async ({
    prepared,
    visit,
    nowMs,
    isTracked,
    isScan,
    isIdentified,
    url,
  }: CountedVisit): Promise<CountedClick> => {
    if (!isCountable(visit, isTracked)) return { clickId: createEventId(nowMs), isRecorded: false };
    let ownId: string | undefined;
    try {
      const trigger = isScan ? 'qr' : 'link';
      // The id of any other click is only in the visitor's cookie. A lead that refers to it waits until the click is stored.
      const isPassedOn = prepared.passesClickId && isIdentified;
      const found = clickProducer(deps, prepared.link.workspaceId);
      // Nearly always synchronous. `await` would suspend the visit and let other requests run first.
      const producer = found instanceof Promise ? await found : found;
      const recording = recordVisit(producer, prepared, visit, { trigger, url, nowMs, isPassedOn, erased });
      ownId = recording.clickId;
      const { clickId, isNew } = await recording.click;
      if (isNew && isPassedOn) deps.freshClicks.add(clickId, recording.rowText);
      return { clickId, isRecorded: true };
    } catch (err) {
      const { id: linkId, workspaceId } = prepared.link;
      logUnrecorded({ err, linkId, workspaceId }, 'a click could not be recorded');
      // The producer retries clicks that failed, so the click may still be stored under this id.
      return { clickId: ownId ?? createEventId(nowMs), isRecorded: false };
    }
  };
}
