/** A place of a running job. */
export interface Place {
  /**
   * Runs what needs no place, such as a wait for another system: others may take it meanwhile. Ends once a place is free again. The place is
   * left for good if `work` fails.
   *
   * @throws what `work` throws; the reason of `signal`, also while no place is free
   */
  lend<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Frees the place. */
  leave(): void;
}

/** A number of places. Those who lent theirs come before new ones. */
export interface Places {
  hasFree(): boolean;
  take(): Place;
}

/** @param onFree called when a place may be taken */
export function createPlaces(max: number, onFree: () => void): Places {
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
      const leave = () => {
        if (!isHeld) return;
        isHeld = false;
        free();
      };
      return {
        leave,
        async lend(work, signal) {
          if (!isHeld) throw new Error('the place is lent or left already');
          leave();
          const result = await work();
          await regain(signal);
          isHeld = true;
          return result;
        },
      };
    },
  };
}
