import { type ClickItem, checkRowSize } from './batch-items.js';
import type { MicroBatcher } from './micro-batcher.js';
import type { RecentClicks } from './recent-clicks.js';

/** A click as a redirect hands it over. */
export interface Click {
  /** Name of the hourly claim, from `clickClaim`. */
  readonly claim: string;
  readonly clickId: string;
  /** Its row as JSON, from `clickRowText`. */
  readonly rowText: string;
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
  readonly recent: RecentClicks;
}

/**
 * Records clicks, one an hour per claim. Clicks of one claim that meet in this process share the first one's id; across
 * processes the claim decides.
 */
export function createClickRecorder({ batcher, recent }: ClickRecorderOptions): ClickRecorder {
  const underWay = new Map<string, Promise<string>>();

  const submit = ({ claim, clickId, rowText }: Click): Promise<string> =>
    new Promise((resolve, fail) => {
      checkRowSize(rowText);
      const settle = (counted: string) => {
        recent.add(claim, counted);
        resolve(counted);
      };
      batcher.add({ type: 'click', claim, clickId, rowText, settle, fail }, 1, rowText.length);
    });

  return {
    async record(click) {
      const { claim, clickId } = click;
      for (let first = underWay.get(claim); first !== undefined; first = underWay.get(claim)) {
        const counted = await first.catch(() => undefined);
        if (counted !== undefined) return { clickId: counted, recorded: false };
      }
      const before = recent.get(claim);
      if (before !== undefined) return { clickId: before, recorded: false };
      const recording = submit(click);
      underWay.set(claim, recording);
      try {
        const counted = await recording;
        return { clickId: counted, recorded: counted === clickId };
      } finally {
        underWay.delete(claim);
      }
    },
  };
}
