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

/** A limited number of slots. Those that become free go to jobs that have lent theirs and to new jobs in turn. */
export interface JobSlots {
  hasFree(): boolean;
  /** Takes a slot. Call it only while {@link hasFree}. */
  take(): JobSlot;
  /** Gives the slots that no new job has taken to the jobs that wait for theirs. Call it when new jobs have been considered after `onFree`. */
  settle(): void;
}

/** @param onFree called when a new job may take a slot; call {@link JobSlots.settle} afterwards */
export function createJobSlots(max: number, onFree: () => void): JobSlots {
  let taken = 0;
  const returning: (() => void)[] = [];
  /** Whether a free slot is offered to new jobs, also if others wait for theirs. */
  let isOffered = false;
  let isTurnOfNew = false;

  /** Gives a free slot to the job that waits for its own the longest. @returns whether there was one */
  function giveBack(): boolean {
    const next = taken < max ? returning.shift() : undefined;
    if (next === undefined) return false;
    taken++;
    next();
    return true;
  }

  function free(): void {
    taken--;
    if (taken >= max) return;
    if (!isTurnOfNew && giveBack()) {
      isTurnOfNew = true;
      return;
    }
    isTurnOfNew = false;
    isOffered = true;
    onFree();
  }

  /** @throws the reason of `signal` */
  async function regain(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (taken < max && !isOffered) {
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

    settle() {
      isOffered = false;
      while (giveBack());
    },

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
