import { within } from '../within.js';

/** Answer of a store to a status check. */
export interface StoreAnswer {
  /** undefined when the store was not asked for it or did not return it in time. */
  readonly uptimeSeconds: number | undefined;
  /** undefined when there is nothing new to say. */
  readonly detail: string | undefined;
}

/** Status of a store. Times are epoch milliseconds. */
export interface StoreState {
  readonly state: 'up' | 'down' | 'restarted';
  readonly since: number;
  readonly detail: string;
  /** Starts seen, the first included. */
  readonly starts: number;
}

export interface StoreWatch {
  /** Checks the store once. Never rejects. */
  poll(): Promise<void>;
  state(): StoreState;
}

export interface StoreWatchOptions {
  readonly name: string;
  /**
   * Rejects when the store does not answer.
   *
   * @param withUptime whether the answer should have the uptime, which costs the store a statement
   */
  readonly check: (limitMs: number, withUptime: boolean) => Promise<StoreAnswer>;
  readonly now: () => number;
}

const TIMEOUT_MS = 1000;
/** How long a restart is shown. */
export const RESTART_SHOWN_MS = 5 * 60_000;
/** How often the uptime is read from a store that answers. A restart that the polls between miss is noticed as late as this. */
const UPTIME_EVERY_MS = 8_000;
/** Tolerance of start times: uptimes are whole seconds, and answers are delayed. */
const SAME_START_MS = 2000;

/** Polls a store. It is down when it does not answer within a second, and restarted when its start time moves. */
export function createStoreWatch({ name, check, now }: StoreWatchOptions): StoreWatch {
  let current: StoreState = { state: 'down', since: now(), detail: `${name} has not been checked yet`, starts: 0 };
  let startedAt: number | undefined;
  let lastUptimeSeconds = 0;
  let answeredAt = Number.NEGATIVE_INFINITY;
  let uptimeReadAt = Number.NEGATIVE_INFINITY;
  let restartedAt = Number.NEGATIVE_INFINITY;
  /** Whether it has been down since its uptime was last read: a busy store may answer some checks without it. */
  let wasDown = true;

  /** Counts a start if the uptime shows that the store is another process than at the last answer. */
  function noteStart(uptimeSeconds: number | undefined): void {
    if (uptimeSeconds === undefined) return;
    uptimeReadAt = now();
    const start = now() - uptimeSeconds * 1000;
    // A new process, even if the old one had started so shortly before that the start times are within the tolerance.
    const hasStartedWhileDown = wasDown && start > answeredAt;
    const isSame =
      startedAt !== undefined &&
      uptimeSeconds >= lastUptimeSeconds &&
      start - startedAt <= SAME_START_MS &&
      !hasStartedWhileDown;
    lastUptimeSeconds = uptimeSeconds;
    wasDown = false;
    if (isSame) return;
    if (startedAt !== undefined) restartedAt = now();
    startedAt = start;
    current = { ...current, starts: current.starts + 1 };
  }

  return {
    state: () => current,
    async poll() {
      try {
        const withUptime = wasDown || now() - uptimeReadAt >= UPTIME_EVERY_MS;
        const answer = await within(check(TIMEOUT_MS, withUptime), TIMEOUT_MS, name);
        const { uptimeSeconds, detail = current.detail } = answer;
        noteStart(uptimeSeconds);
        if (!wasDown) answeredAt = now();
        const state = now() - restartedAt < RESTART_SHOWN_MS ? 'restarted' : 'up';
        const since = startedAt ?? (current.state === 'down' ? now() : current.since);
        current = { ...current, state, since, detail };
      } catch (err) {
        const detail = err instanceof Error && err.message !== '' ? err.message : `${name} does not answer`;
        const since = current.state === 'down' ? current.since : now();
        wasDown = true;
        current = { ...current, state: 'down', since, detail };
      }
    },
  };
}
