import { DURATION_BOUNDS_MS } from '@waymark/clickhouse';

const BOUNDS: readonly number[] = DURATION_BOUNDS_MS;
const BUCKET_COUNT = BOUNDS.length + 1;

/** A histogram of durations. Adding one allocates no memory, because requests are counted on the hot path. */
export class DurationCounts {
  count = 0;
  sumMs = 0;
  /** The longest duration since the last `takeNew`. */
  #maxMs = 0;
  /** Counts per bucket, not cumulative; the last bucket has no upper bound. */
  readonly buckets: number[] = new Array<number>(BUCKET_COUNT).fill(0);
  /** The totals at the last `takeNew`. */
  #taken: { readonly count: number; readonly sumMs: number; readonly buckets: readonly number[] } | undefined;

  add(durationMs: number): void {
    let index = 0;
    while (index < BOUNDS.length && durationMs > (BOUNDS[index] as number)) index += 1;
    this.buckets[index] = (this.buckets[index] as number) + 1;
    this.count += 1;
    this.sumMs += durationMs;
    if (durationMs > this.#maxMs) this.#maxMs = durationMs;
  }

  /** Durations added since the last call; undefined when there are none. */
  takeNew(): { count: number; sumMs: number; maxMs: number; buckets: number[] } | undefined {
    const before = this.#taken;
    const count = this.count - (before?.count ?? 0);
    if (count === 0) return undefined;
    const taken = {
      count,
      sumMs: this.sumMs - (before?.sumMs ?? 0),
      maxMs: this.#maxMs,
      buckets: this.buckets.map((total, index) => total - (before?.buckets[index] ?? 0)),
    };
    this.#taken = { count: this.count, sumMs: this.sumMs, buckets: [...this.buckets] };
    this.#maxMs = 0;
    return taken;
  }
}
