import { withTimeout } from '@waymark/cache';

/** Settles like `work`, or rejects after the timeout. The work itself is not stopped. */
export function within<T>(work: Promise<T>, milliseconds: number, what: string): Promise<T> {
  return withTimeout(work, milliseconds, () => {
    throw new Error(`${what}: no answer in ${milliseconds} ms`);
  });
}
