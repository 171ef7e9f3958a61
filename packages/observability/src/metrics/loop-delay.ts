import { createHistogram, type Histogram, type RecordableHistogram } from 'node:perf_hooks';

/**
 * Measures how late the event loop runs a timer: once a second, and every ten seconds while the loop is idle. Each measurement wakes the
 * process; the fifty or a hundred a second of `monitorEventLoopDelay` were most of the processor time of an idle process.
 */
export interface LoopDelay {
  /** Creates a histogram of the delays from now on, in nanoseconds, for one reader, who may reset it. */
  histogram(): Histogram;
  /** Stops measuring. */
  close(): void;
}

const SAMPLE_MS = 1000;
const IDLE_SAMPLE_MS = 10_000;
/** The loop counts as idle if it has worked for less than this share of the time since the last measurement. */
const IDLE_SHARE = 0.02;
const NANOSECONDS_PER_MS = 1e6;

/** Starts the measurements, which do not keep the process alive. */
export function startLoopDelay(): LoopDelay {
  const histograms: RecordableHistogram[] = [];
  let dueMs = 0;
  let used = performance.eventLoopUtilization();
  let timer = sampleIn(SAMPLE_MS);

  function sampleIn(milliseconds: number): NodeJS.Timeout {
    dueMs = performance.now() + milliseconds;
    return setTimeout(sample, milliseconds).unref();
  }

  function sample(): void {
    const delayMs = performance.now() - dueMs;
    // A histogram has no place for 0; timers may run up to a millisecond early.
    const delay = Math.max(1, Math.round(delayMs * NANOSECONDS_PER_MS));
    for (const histogram of histograms) histogram.record(delay);
    const before = used;
    used = performance.eventLoopUtilization();
    const isIdle = performance.eventLoopUtilization(used, before).utilization < IDLE_SHARE;
    timer = sampleIn(isIdle ? IDLE_SAMPLE_MS : SAMPLE_MS);
  }

  return {
    histogram() {
      const histogram = createHistogram();
      histograms.push(histogram);
      return histogram;
    },
    close: () => clearTimeout(timer),
  };
}
