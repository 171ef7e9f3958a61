/** The right to run one job. A process has a limited number of them. */
export interface JobSlot {
  /**
   * Runs work that needs no slot, such as a wait for another system, while other jobs may use the slot. Resolves once a slot is free again.
   * If `work` fails, the slot is not taken again.
   *
   * @throws what `work` throws; the reason of `signal`, also while no slot is free
   */
  lend<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Frees the slot. Idempotent. */
  release(): void;
}

/** A limited number of slots. A free one goes to a job that has lent its own, before a new job may take it. */
export interface JobSlots {
  hasFree(): boolean;
  /** Takes a slot. Call it only while {@link hasFree}. */
  take(): JobSlot;
}

/** @param onFree called when a new job may take a slot */
export function createJobSlots(max: number, onFree: () => void): JobSlots {
  let taken = 0;
  const returning: (() => void)[] = [];

  function free(): void {
    taken--;
    if (taken >= max) return;
    const next = returning.shift();
    if (next === undefined) {
      onFree();
      return;
    }
    taken++;
    next();
  }

  /** @throws the reason of `signal` */
  async function regain(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (taken < max) {
      taken++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        returning.splice(returning.indexOf(resume), 1);
        reject(signal.reason);
      };
      const resume = () => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      signal.addEventListener('abort', giveUp, { once: true });
      returning.push(resume);
    });
  }

  return {
    hasFree: () => taken < max,

    take() {
      taken++;
      let isHeld = true;
      const release = () => {
        if (!isHeld) return;
        isHeld = false;
        free();
      };
      return {
        release,
        async lend(work, signal) {
          if (!isHeld) throw new Error('the slot is lent or released already');
          release();
          const result = await work();
          await regain(signal);
          isHeld = true;
          return result;
        },
      };
    },
  };
}
