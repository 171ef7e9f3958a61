import { within } from '../within.js';

/** What a store said of itself. */
export interface StoreAnswer {
  /** For how long it has run; undefined when it does not say. */
  readonly uptimeSeconds: number | undefined;
  readonly detail: string;
}

/** What is known of a store; times are epoch milliseconds. */
export interface StoreState {
  readonly state: 'up' | 'down' | 'restarted';
  readonly since: number;
  readonly detail: string;
  /** Starts seen, the first included. */
  readonly starts: number;
}

export interface StoreWatch {
  /** Asks once. Never rejects. */
  look(): Promise<void>;
  state(): StoreState;
}

export interface StoreWatchOptions {
  readonly name: string;
  /** Rejects when the store does not answer. */
  readonly ask: (limitMs: number) => Promise<StoreAnswer>;
  readonly now: () => number;
}

const ANSWER_MS = 1000;
/** How long a restart is told. */
export const RESTART_TOLD_MS = 5 * 60_000;
/** Uptimes are whole seconds, and an answer takes its time. */
const SAME_START_MS = 2000;

/** Watches a store by asking it: it is down when it does not answer within a second, and it was restarted when it runs since later. */
export function createStoreWatch({ name, ask, now }: StoreWatchOptions): StoreWatch {
  let current: StoreState = { state: 'down', since: now(), detail: `${name} has not been asked yet`, starts: 0 };
  let startedAt: number | undefined;
  let lastUptimeSeconds = 0;
  let answeredAt = Number.NEGATIVE_INFINITY;
  let restartedAt = Number.NEGATIVE_INFINITY;

  function noteStart(uptimeSeconds: number | undefined): void {
    if (uptimeSeconds === undefined) return;
    const start = now() - uptimeSeconds * 1000;
    // A store that was away and runs since it last answered is another one, however young the one before was.
    const isYounger = current.state === 'down' && start > answeredAt;
    const isSame =
      startedAt !== undefined && uptimeSeconds >= lastUptimeSeconds && start - startedAt <= SAME_START_MS && !isYounger;
    lastUptimeSeconds = uptimeSeconds;
    if (isSame) return;
    if (startedAt !== undefined) restartedAt = now();
    startedAt = start;
    current = { ...current, starts: current.starts + 1 };
  }

  return {
    state: () => current,
    async look() {
      try {
        const { uptimeSeconds, detail } = await within(ask(ANSWER_MS), ANSWER_MS, name);
        noteStart(uptimeSeconds);
        answeredAt = now();
        const state = now() - restartedAt < RESTART_TOLD_MS ? 'restarted' : 'up';
        const since = startedAt ?? (current.state === 'down' ? now() : current.since);
        current = { ...current, state, since, detail };
      } catch (err) {
        const detail = err instanceof Error && err.message !== '' ? err.message : `${name} does not answer`;
        const since = current.state === 'down' ? current.since : now();
        current = { ...current, state: 'down', since, detail };
      }
    },
  };
}
