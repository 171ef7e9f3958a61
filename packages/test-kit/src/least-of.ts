/**
 * The least that several measurements come to. One of no more than `enough` is the last: a machine that is busy with other
 * things lets some runs take long, slow code lets all of them. Each measurement makes anew what it measures.
 */
export async function leastOf(enough: number, measure: () => Promise<number>, times = 5): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < times && least > enough; time++) least = Math.min(least, await measure());
  return least;
}

/** How long that takes, in milliseconds. */
export async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
