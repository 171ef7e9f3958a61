/** Options of {@link createDataLoader}. */
export interface DataLoaderOptions<Key, Value> {
  /** Keys with the same text are read once. */
  readonly identify: (key: Key) => string;
  /** Only keys of the same group are read together. */
  readonly group: (key: Key) => string;
  /** Reads the values; the map has them by `identify(key)`, and no entry for a key without a value. */
  readonly load: (keys: readonly Key[]) => Promise<ReadonlyMap<string, Value>>;
  /** Maximum number of keys of a read. */
  readonly batchSizeMax: number;
  /** Limits the sum of the weights of a read's keys, such as their bytes in a URL; a single key is read whatever its weight. */
  readonly weight?: { readonly of: (key: Key) => number; readonly max: number };
  readonly concurrentReadsMax: number;
}

interface Waiting<Key, Value> {
  readonly key: Key;
  readonly result: Promise<Value | undefined>;
  readonly resolve: (value: Value | undefined) => void;
  readonly reject: (err: unknown) => void;
}

/**
 * Creates a function that looks up one value, and gathers its calls into reads of many values. A call only joins a read that has not been
 * sent yet. Its answer is thus never older than the call, so that checks under a lock may use the function.
 *
 * @returns a function that resolves with undefined for a key without a value, and rejects with the error of `load`
 */
export function createDataLoader<Key, Value>(options: DataLoaderOptions<Key, Value>) {
  const waiting = new Map<string, Waiting<Key, Value>>();
  let activeReads = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || waiting.size === 0 || activeReads >= options.concurrentReadsMax) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      void read(takeBatch());
      schedule();
    });
  }

  function takeBatch(): Map<string, Waiting<Key, Value>> {
    const batch = new Map<string, Waiting<Key, Value>>();
    let group: string | undefined;
    let weight = 0;
    for (const [id, entry] of waiting) {
      group ??= options.group(entry.key);
      if (options.group(entry.key) !== group) continue;
      weight += options.weight?.of(entry.key) ?? 0;
      if (batch.size > 0 && weight > (options.weight?.max ?? Number.POSITIVE_INFINITY)) break;
      batch.set(id, entry);
      waiting.delete(id);
      if (batch.size >= options.batchSizeMax) break;
    }
    return batch;
  }

  async function read(batch: ReadonlyMap<string, Waiting<Key, Value>>): Promise<void> {
    activeReads += 1;
    try {
      const values = await options.load([...batch.values()].map((entry) => entry.key));
      for (const [id, entry] of batch) entry.resolve(values.get(id));
    } catch (err) {
      for (const entry of batch.values()) entry.reject(err);
    } finally {
      activeReads -= 1;
      schedule();
    }
  }

  return function load(key: Key): Promise<Value | undefined> {
    const id = options.identify(key);
    const pending = waiting.get(id);
    if (pending !== undefined) return pending.result;
    let resolve: (value: Value | undefined) => void = () => undefined;
    let reject: (err: unknown) => void = () => undefined;
    const result = new Promise<Value | undefined>((onValue, onError) => {
      resolve = onValue;
      reject = onError;
    });
    waiting.set(id, { key, result, resolve, reject });
    schedule();
    return result;
  };
}
