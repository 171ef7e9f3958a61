import { withTimeout } from '@waymark/cache';

/** Settles like `work`, or rejects after the timeout. The work itself goes on. @param what names the work in the error */
export function within<T>(work: Promise<T>, milliseconds: number, what: string): Promise<T> {
  return withTimeout(work, milliseconds, () => {
    throw new Error(`${what}: no answer in ${milliseconds} ms`);
  });
}
