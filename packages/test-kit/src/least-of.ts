/**
 * The smallest of up to `times` measurements; stops early at one of at most `enough`. On a busy machine some measurements are slow,
 * whereas slow code is slow in all of them. `measure` must set up what it measures each time.
 */
export async function leastOf(enough: number, measure: () => Promise<number>, times = 5): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < times && least > enough; time++) least = Math.min(least, await measure());
  return least;
}

/** The duration of `work`, in milliseconds. */
export async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
