import { answerWithin } from '@waymark/cache';

/** The answer of a store to a check. */
export interface StoreAnswer {
  /** Undefined when the check did not ask for the uptime, or the store did not return it in time. */
  readonly uptimeSeconds: number | undefined;
  /** What to show to operators; undefined = the same as before. */
  readonly detail: string | undefined;
}

/** Status of a store. Times are epoch milliseconds. */
export interface StoreState {
  readonly state: 'up' | 'down' | 'restarted';
  readonly since: number;
  readonly detail: string;
  /** How many starts this process has noticed, including the one before its first check. */
  readonly starts: number;
}

/** Watches one store. */
export interface StoreWatch {
  /** Checks the store once. Never rejects. */
  poll(): Promise<void>;
  state(): StoreState;
}

export interface StoreWatchOptions {
  readonly name: string;
  /**
   * Checks the store. Rejects when it does not answer.
   *
   * @param withUptime whether to ask for the uptime, which costs the store a statement
   */
  readonly check: (limitMs: number, withUptime: boolean) => Promise<StoreAnswer>;
  readonly now: () => number;
}

const TIMEOUT_MS = 1000;
/** How long a store or service is shown as restarted. */
export const RESTART_SHOWN_MS = 5 * 60_000;
/** How often the uptime is read from a store that answers. A restart between two polls is noticed after this time at the latest. */
const UPTIME_EVERY_MS = 8_000;
/** Tolerance when start times are compared: uptimes are whole seconds, and answers are delayed. */
const SAME_START_MS = 2000;

/** Polls a store. It is down when it does not answer within a second, and restarted when its start time moves. */
export function createStoreWatch({ name, check, now }: StoreWatchOptions): StoreWatch {
  let current: StoreState = { state: 'down', since: now(), detail: `${name} has not been checked yet`, starts: 0 };
  let startedMs: number | undefined;
  let lastUptimeSeconds = 0;
  let answeredMs = Number.NEGATIVE_INFINITY;
  let uptimeReadMs = Number.NEGATIVE_INFINITY;
  let restartedMs = Number.NEGATIVE_INFINITY;
  /** Whether the store has been down since its uptime was last read. A busy store may answer some checks without its uptime. */
  let wasDown = true;

  /** Counts a start if the uptime shows that the store has been restarted since its last answer. */
  function noteStart(uptimeSeconds: number | undefined): void {
    if (uptimeSeconds === undefined) return;
    uptimeReadMs = now();
    const start = now() - uptimeSeconds * 1000;
    // This finds a restart also when both processes have started within the tolerance.
    const hasStartedWhileDown = wasDown && start > answeredMs;
    const isSame =
      startedMs !== undefined &&
      uptimeSeconds >= lastUptimeSeconds &&
      start - startedMs <= SAME_START_MS &&
      !hasStartedWhileDown;
    lastUptimeSeconds = uptimeSeconds;
    wasDown = false;
    if (isSame) return;
    if (startedMs !== undefined) restartedMs = now();
    startedMs = start;
    current = { ...current, starts: current.starts + 1 };
  }

  return {
    state: () => current,
    async poll() {
      try {
        const withUptime = wasDown || now() - uptimeReadMs >= UPTIME_EVERY_MS;
        const answer = await answerWithin(check(TIMEOUT_MS, withUptime), TIMEOUT_MS, name);
        const { uptimeSeconds, detail = current.detail } = answer;
        noteStart(uptimeSeconds);
        if (!wasDown) answeredMs = now();
        const state = now() - restartedMs < RESTART_SHOWN_MS ? 'restarted' : 'up';
        const since = startedMs ?? (current.state === 'down' ? now() : current.since);
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
