import { ApiError } from '@waymark/contract';

/** Upper limits of a queue. An owner is whoever the tasks are run for, such as a workspace. */
export interface FairQueueOptions {
  /** Tasks that run at the same time. */
  readonly runningMax: number;
  /** Tasks of one owner that run at the same time. */
  readonly runningPerOwnerMax: number;
  /** Tasks that may wait for a slot. */
  readonly waitingMax: number;
  /** Tasks of one owner that may wait for a slot. */
  readonly waitingPerOwnerMax: number;
  /** Longest time a task may wait. */
  readonly waitMsMax: number;
}

/**
 * Limits concurrent tasks, in total and per owner. A slot that becomes free goes to the owner with the fewest running tasks, however many wait;
 * among equals, to the one whose last task started longest ago. Only an owner without running tasks gets the last free slot, so that no two
 * owners together hold up a third.
 */
export interface FairQueue {
  /**
   * Runs a task as soon as a slot is free.
   *
   * @throws ApiError 429 when too many tasks wait, or this one waits too long; the reason of `signal` if it aborts first
   */
  run<T>(owner: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Like {@link run}, but a task that has to wait does so for as long as it takes, however many others wait. While it waits, it counts towards
   * the limits at which {@link run} refuses tasks. Limit the number of such tasks elsewhere.
   *
   * @throws the reason of `signal` if it aborts first
   */
  runPatiently<T>(owner: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** The tasks of one owner. Owners without tasks have no entry. */
interface OwnerState {
  running: number;
  /** Callbacks that start the waiting tasks, oldest first. */
  readonly waiting: Set<() => void>;
}

function tooBusy(what: string): ApiError {
  return new ApiError('rate_limit_exceeded', `${what} Please try again.`, { retryAfterSeconds: 1 });
}

/** Creates a {@link FairQueue} of one process. */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { runningMax, runningPerOwnerMax, waitingMax, waitingPerOwnerMax, waitMsMax } = options;
  /** In round-robin order: starting a task moves its owner to the end. */
  const owners = new Map<string, OwnerState>();
  let running = 0;
  let waiting = 0;

  function stateOf(owner: string): OwnerState {
    const state = owners.get(owner) ?? { running: 0, waiting: new Set() };
    owners.set(owner, state);
    return state;
  }

  function removeIfIdle(owner: string, state: OwnerState): void {
    if (state.running === 0 && state.waiting.size === 0) owners.delete(owner);
  }

  /** Whether a task of the owner may start now. */
  function mayStart(state: OwnerState): boolean {
    /** The slots that it must leave to other owners. */
    const slotsReserved = state.running === 0 ? 0 : 1;
    return runningMax - running > slotsReserved && state.running < runningPerOwnerMax;
  }

  function acquireSlot(owner: string, state: OwnerState): void {
    state.running += 1;
    running += 1;
    owners.delete(owner);
    owners.set(owner, state);
  }

  /** Starts a task of the owner with the fewest running tasks; among equals, the one that has waited longest for its turn. */
  function startNext(): void {
    let next: OwnerState | undefined;
    for (const state of owners.values()) {
      const isEligible = state.waiting.size > 0 && mayStart(state);
      if (isEligible && (next === undefined || state.running < next.running)) next = state;
    }
    const [start] = next?.waiting ?? [];
    start?.();
  }

  /** @throws ApiError 429 when too many wait */
  function checkRoom(state: OwnerState): void {
    if (waiting >= waitingMax) throw tooBusy('Too many reads are under way.');
    if (state.waiting.size >= waitingPerOwnerMax) throw tooBusy('Too many reads of this workspace are under way.');
  }

  /** @param limitMs how long it may wait; undefined = as long as it takes */
  function waitForSlot(
    owner: string,
    state: OwnerState,
    signal: AbortSignal | undefined,
    limitMs: number | undefined,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (end: () => void) => {
        state.waiting.delete(start);
        waiting -= 1;
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        end();
      };
      const start = () =>
        leave(() => {
          acquireSlot(owner, state);
          resolve();
        });
      const onAbort = () => leave(() => reject(signal?.reason));
      const refuse = () => leave(() => reject(tooBusy('Too many reads are under way.')));
      const timer = limitMs === undefined ? undefined : setTimeout(refuse, limitMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      state.waiting.add(start);
      waiting += 1;
    });
  }

  async function runInTurn<T>(
    owner: string,
    task: () => Promise<T>,
    signal: AbortSignal | undefined,
    isPatient: boolean,
  ): Promise<T> {
    signal?.throwIfAborted();
    const state = stateOf(owner);
    try {
      if (mayStart(state)) {
        acquireSlot(owner, state);
      } else {
        if (!isPatient) checkRoom(state);
        await waitForSlot(owner, state, signal, isPatient ? undefined : waitMsMax);
      }
    } catch (err) {
      removeIfIdle(owner, state);
      throw err;
    }
    try {
      return await task();
    } finally {
      state.running -= 1;
      running -= 1;
      removeIfIdle(owner, state);
      startNext();
    }
  }

  return {
    run: (owner, task, signal) => runInTurn(owner, task, signal, false),
    runPatiently: (owner, task, signal) => runInTurn(owner, task, signal, true),
  };
}
