import { createHistogram, type Histogram, type RecordableHistogram } from 'node:perf_hooks';

/**
 * Measures how late the event loop runs a timer. Once a second, because each measurement wakes the process: `monitorEventLoopDelay`
 * does it fifty or a hundred times a second, which was most of what an idle process used.
 */
export interface LoopDelay {
  /** A new histogram of the delays from now on, in nanoseconds; its reader resets it. */
  histogram(): Histogram;
  close(): void;
}

const SAMPLE_MS = 1000;
const NANOSECONDS_PER_MS = 1e6;

export function startLoopDelay(): LoopDelay {
  const histograms: RecordableHistogram[] = [];
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const delayMs = nowMs - lastMs - SAMPLE_MS;
    lastMs = nowMs;
    // A histogram has no place for 0; timers may run up to a millisecond early.
    const delay = Math.max(1, Math.round(delayMs * NANOSECONDS_PER_MS));
    for (const histogram of histograms) histogram.record(delay);
  }, SAMPLE_MS);
  timer.unref();

  return {
    histogram() {
      const histogram = createHistogram();
      histograms.push(histogram);
      return histogram;
    },
    close: () => clearInterval(timer),
  };
}
