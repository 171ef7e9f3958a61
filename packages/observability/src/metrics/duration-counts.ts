import { DURATION_BOUNDS_MS } from '@waymark/clickhouse';

const BOUNDS: readonly number[] = DURATION_BOUNDS_MS;
const PLACES = BOUNDS.length + 1;

/** A histogram of durations that allocates nothing when one is added. */
export class DurationCounts {
  count = 0;
  sumMs = 0;
  /** The longest duration since the last `takeNew`. */
  #maxMs = 0;
  /** Counts per bucket, not cumulative; the last bucket has no upper bound. */
  readonly places: number[] = new Array<number>(PLACES).fill(0);
  #taken: { readonly count: number; readonly sumMs: number; readonly places: readonly number[] } | undefined;

  add(durationMs: number): void {
    let place = 0;
    while (place < BOUNDS.length && durationMs > (BOUNDS[place] as number)) place += 1;
    this.places[place] = (this.places[place] as number) + 1;
    this.count += 1;
    this.sumMs += durationMs;
    if (durationMs > this.#maxMs) this.#maxMs = durationMs;
  }

  /** Durations added since the last call; undefined when there are none. */
  takeNew(): { count: number; sumMs: number; maxMs: number; places: number[] } | undefined {
    const before = this.#taken;
    const count = this.count - (before?.count ?? 0);
    if (count === 0) return undefined;
    const taken = {
      count,
      sumMs: this.sumMs - (before?.sumMs ?? 0),
      maxMs: this.#maxMs,
      places: this.places.map((total, place) => total - (before?.places[place] ?? 0)),
    };
    this.#taken = { count: this.count, sumMs: this.sumMs, places: [...this.places] };
    this.#maxMs = 0;
    return taken;
  }
}
