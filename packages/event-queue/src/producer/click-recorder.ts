import { type ClickItem, rowSizeFault } from './batch-items.js';
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
  const underWay = new Map<string, Promise<RecordedClick>>();

  const submit = ({ claim, clickId, rowText }: Click): Promise<RecordedClick> => {
    const recording = new Promise<RecordedClick>((resolve, reject) => {
      const settle = (counted: string) => {
        recent.add(claim, counted);
        underWay.delete(claim);
        resolve({ clickId: counted, recorded: counted === clickId });
      };
      const fail = (err: unknown) => {
        underWay.delete(claim);
        reject(err);
      };
      batcher.add({ type: 'click', claim, clickId, rowText, settle, fail }, 1, rowText.length);
    });
    underWay.set(claim, recording);
    return recording;
  };

  const record = (click: Click): Promise<RecordedClick> => {
    const counted = recent.get(click.claim);
    if (counted !== undefined) return Promise.resolve({ clickId: counted, recorded: false });
    const first = underWay.get(click.claim);
    if (first === undefined) {
      const fault = rowSizeFault(click.rowText);
      return fault === undefined ? submit(click) : Promise.reject(fault);
    }
    return first.then(
      ({ clickId }) => ({ clickId, recorded: false }),
      () => record(click),
    );
  };

  return { record };
}
