import { existsSync, readFileSync } from 'node:fs';

/** Short compared to the pauses to detect, long enough to cost nothing. */
const SAMPLE_MS = 5;

/** Linux reports the CPU time of each thread in nanoseconds. */
const OF_THIS_THREAD = '/proc/thread-self/schedstat';
const isCounted = existsSync(OF_THIS_THREAD);

/** CPU time of this thread; on other systems that of the process, including garbage collection and compression threads. */
function usedMs(): number {
  if (isCounted) return Number.parseInt(readFileSync(OF_THIS_THREAD, 'utf8'), 10) / 1e6;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Measures pauses of this thread's event loop. A pause is the time between two samples, but at most the CPU time that this thread used
 * between them: on a machine that is busy with other processes every thread waits, which does not count as a pause.
 */
export function watchLoop() {
  let sampledAtMs = performance.now();
  let usedBeforeMs = usedMs();
  let longestMs = 0;

  function sample(): void {
    const [nowMs, usedNowMs] = [performance.now(), usedMs()];
    longestMs = Math.max(longestMs, Math.min(nowMs - sampledAtMs, usedNowMs - usedBeforeMs));
    [sampledAtMs, usedBeforeMs] = [nowMs, usedNowMs];
  }

  const timer = setInterval(sample, SAMPLE_MS);
  return {
    /** Resets the measurement. */
    reset(): void {
      sample();
      longestMs = 0;
    },

    /** The longest pause since the last reset, in milliseconds. */
    longestMs(): number {
      sample();
      return longestMs;
    },

    stop(): void {
      clearInterval(timer);
    },
  };
}
