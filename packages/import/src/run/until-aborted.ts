/** Settles as `work`, or rejects with the reason of the signal once it is aborted. Leaves no listener on the signal. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    // The event is not sent again to listeners that are added after it.
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/**
 * Passes on the items of a source that may keep the import waiting for a long time. Keeps none of them in memory: `Promise.race` with one
 * promise for the whole import would keep every item until the import has ended.
 *
 * @throws the reason of the signal once it is aborted, also while the source is waiting
 */
export async function* untilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await orAborted(iterator.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Closes what the source has open. Not awaited, because a request of the source may still be running.
    iterator.return?.().catch(() => undefined);
  }
}
