import type { EventRow } from '@waymark/clickhouse';
import { type ClickItem, type ClickOutcome, rowText } from './batch-items.js';
import type { MicroBatcher } from './micro-batcher.js';
import type { PendingClicks } from './pending-clicks.js';
import type { SpooledClaims } from './spooled-claims.js';

/** A click as a redirect hands it over. */
export interface Click {
  /** Name of the hourly claim, from `clickClaim`. */
  readonly claim: string;
  readonly clickId: string;
  readonly row: EventRow;
}

/** The click that stands for this visit: its own, or the one counted within the hour. */
export interface RecordedClick {
  readonly clickId: string;
  readonly recorded: boolean;
}

export interface ClickRecorder {
  record(click: Click): Promise<RecordedClick>;
}

export interface ClickRecorderOptions {
  readonly batcher: Pick<MicroBatcher<ClickItem>, 'add'>;
  readonly pending: PendingClicks;
  readonly spooled: SpooledClaims;
}

/**
 * Records clicks, one an hour per claim. Clicks of one claim that meet in this process share the first one's id; across
 * processes the claim decides. A claim that stays pending belongs to a process that is slow or dead: after a moment the click
 * records itself and takes the claim over. A rare click too many is better than one lost.
 */
export function createClickRecorder(options: ClickRecorderOptions): ClickRecorder {
  const { batcher, pending, spooled } = options;
  const underWay = new Map<string, Promise<RecordedClick>>();

  const submit = (claim: string, clickId: string, text: string, takesOver: boolean): Promise<ClickOutcome> =>
    new Promise((settle, fail) => {
      batcher.add({ type: 'click', claim, clickId, rowText: text, takesOver, settle, fail }, 1, text.length);
    });

  const recordFirst = async ({ claim, clickId, row }: Click): Promise<RecordedClick> => {
    const text = rowText(row);
    let outcome = await submit(claim, clickId, text, false);
    if (outcome.state === 'pending') {
      const counted = await pending.wait(claim);
      if (counted !== undefined) return { clickId: counted, recorded: false };
      outcome = await submit(claim, clickId, text, true);
    }
    if (outcome.state === 'known') return { clickId: outcome.clickId, recorded: false };
    if (outcome.state === 'recorded' && outcome.on === 'disk') spooled.add(claim, clickId);
    return { clickId, recorded: true };
  };

  return {
    async record(click) {
      for (let first = underWay.get(click.claim); first !== undefined; first = underWay.get(click.claim)) {
        const result = await first.catch(() => undefined);
        if (result !== undefined) return { clickId: result.clickId, recorded: false };
      }
      const counted = spooled.get(click.claim);
      if (counted !== undefined) return { clickId: counted, recorded: false };
      const recording = recordFirst(click);
      underWay.set(click.claim, recording);
      try {
        return await recording;
      } finally {
        underWay.delete(click.claim);
      }
    },
  };
}
