import { DurationCounts } from './duration-counts.js';

/** Requests of one kind: same route, plan and status. */
export interface RequestKind {
  /** Method and pattern, such as `GET /links/:linkId`. */
  readonly route: string;
  /** Plan of the caller's workspace; empty without a key. */
  readonly plan: string;
  readonly status: number;
}

/** The requests of one kind. */
export interface CountedRequests {
  readonly kind: RequestKind;
  readonly durations: DurationCounts;
  /** How many of them were over a rate limit. */
  readonly limited: number;
  /** Returns how many requests were over a rate limit since the last call. */
  takeLimited(): number;
}

/** Counts the requests that this process has answered. */
export interface RequestCounts {
  /** @param isLimited whether the request was over a rate limit */
  count(kind: RequestKind, durationMs: number, isLimited: boolean): void;
  /** Counts a visit of a short link that was served without Fastify. It is faster than `count`, because visits are the hot path. */
  countVisit(status: number, durationMs: number): void;
  all(): Iterable<CountedRequests>;
}

class Entry implements CountedRequests {
  readonly kind: RequestKind;
  readonly durations = new DurationCounts();
  limited = 0;
  #limitedTaken = 0;

  constructor(kind: RequestKind) {
    this.kind = kind;
  }

  takeLimited(): number {
    const taken = this.limited - this.#limitedTaken;
    this.#limitedTaken = this.limited;
    return taken;
  }
}

/** The route under which visits of short links are counted. */
export const VISIT_ROUTE = 'GET /:key';

/** Creates the counts of a process, which begin at 0. */
export function createRequestCounts(): RequestCounts {
  const byKind = new Map<string, Entry>();
  const visits: (Entry | undefined)[] = [];

  function entryOf(kind: RequestKind): Entry {
    const key = `${kind.route} ${kind.status} ${kind.plan}`;
    let entry = byKind.get(key);
    if (entry === undefined) {
      entry = new Entry(kind);
      byKind.set(key, entry);
    }
    return entry;
  }

  return {
    count(kind, durationMs, isLimited) {
      const entry = entryOf(kind);
      entry.durations.add(durationMs);
      if (isLimited) entry.limited += 1;
    },
    countVisit(status, durationMs) {
      let entry = visits[status];
      if (entry === undefined) {
        entry = entryOf({ route: VISIT_ROUTE, plan: '', status });
        visits[status] = entry;
      }
      entry.durations.add(durationMs);
    },
    all: () => byKind.values(),
  };
}
