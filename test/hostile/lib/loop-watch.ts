import { existsSync, readFileSync } from 'node:fs';

/** Short beside what is looked for, long enough to cost nothing. */
const LOOK_MS = 5;

/** Linux counts for each thread what it has had of the processors, in nanoseconds. */
const OF_THIS_THREAD = '/proc/thread-self/schedstat';
const isCounted = existsSync(OF_THIS_THREAD);

/** What this thread has had of the processors so far; elsewhere that of the process, whose other threads collect and compress. */
function usedMs(): number {
  if (isCounted) return Number.parseInt(readFileSync(OF_THIS_THREAD, 'utf8'), 10) / 1e6;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Watches the event loop of this thread from now on. Between two looks it was held up for as long as they are apart, but no
 * longer than the thread was itself busy between just these two: a machine that is busy with other things lets every thread
 * wait, and that is not taken for a busy one.
 */
export function watchLoop() {
  let lookedAtMs = performance.now();
  let usedBeforeMs = usedMs();
  let longestMs = 0;

  function look(): void {
    const [nowMs, usedNowMs] = [performance.now(), usedMs()];
    longestMs = Math.max(longestMs, Math.min(nowMs - lookedAtMs, usedNowMs - usedBeforeMs));
    [lookedAtMs, usedBeforeMs] = [nowMs, usedNowMs];
  }

  const timer = setInterval(look, LOOK_MS);
  return {
    /** Forgets what was seen so far. */
    reset(): void {
      look();
      longestMs = 0;
    },

    /** The longest since the last reset, in milliseconds. */
    longestMs(): number {
      look();
      return longestMs;
    },

    stop(): void {
      clearInterval(timer);
    },
  };
}
