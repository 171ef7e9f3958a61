/**
 * Lets concurrent callers share the runs of `work`. One run takes place at a time, and each caller gets one that begins after its call, so
 * that its result includes all that happened before.
 */
export function sharedRuns(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  const begin = () => {
    next = undefined;
    running = work();
    return running;
  };
  return () => {
    next ??= running.then(begin, begin);
    return next;
  };
}
