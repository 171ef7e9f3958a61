import { type ClickItem, clickSizeFault } from './batch-items.js';
import type { MicroBatcher } from './micro-batcher.js';
import type { RecentClicks } from './recent-clicks.js';

/** A click to be recorded. */
export interface Click {
  /** Name of the hourly claim, from `clickClaim`. */
  readonly claim: string;
  readonly clickId: string;
  /** Its row as JSON. */
  readonly rowText: string;
  /** Whether other processes shall find its row while it is queued, because its id is passed on and a lead may follow at once. */
  readonly isFindable?: boolean;
}

/** The click that counts for a visit. */
export interface RecordedClick {
  readonly clickId: string;
  /** True if the click was recorded for this visit, false if it is that of an earlier visit within the hour. */
  readonly isNew: boolean;
}

/**
 * Records the clicks of one producer: one click per claim and hour. Of concurrent clicks with one claim in this process, the first is
 * recorded, and the others get its id; between processes the claim in Redis decides.
 *
 * @returns a function that rejects with an ApiError when the row is too large, or neither Redis nor the spool accepted the click
 */
export function createClickRecorder(
  batcher: Pick<MicroBatcher<ClickItem>, 'add'>,
  recent: RecentClicks,
): (click: Click) => Promise<RecordedClick> {
  const inFlight = new Map<string, Promise<RecordedClick>>();

  const submit = ({ claim, clickId, rowText, isFindable = false }: Click): Promise<RecordedClick> => {
    const recording = new Promise<RecordedClick>((resolve, reject) => {
      const succeed = (countedId: string) => {
        recent.add(claim, countedId);
        inFlight.delete(claim);
        resolve({ clickId: countedId, isNew: countedId === clickId });
      };
      const fail = (err: unknown) => {
        inFlight.delete(claim);
        reject(err);
      };
      batcher.add({ type: 'click', claim, clickId, rowText, isFindable, succeed, fail }, 1, rowText.length);
    });
    inFlight.set(claim, recording);
    return recording;
  };

  const record = (click: Click): Promise<RecordedClick> => {
    const countedId = recent.get(click.claim);
    if (countedId !== undefined) return Promise.resolve({ clickId: countedId, isNew: false });
    const first = inFlight.get(click.claim);
    if (first === undefined) {
      const fault = clickSizeFault(click.rowText);
      return fault === undefined ? submit(click) : Promise.reject(fault);
    }
    return first.then(
      ({ clickId }) => ({ clickId, isNew: false }),
      () => record(click),
    );
  };

  return record;
}
