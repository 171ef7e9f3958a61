import { PENDING_TTL_MS } from './claim-value.js';

/** Repeats releases of claims that Redis did not carry out. Otherwise the attempts of a caller would fail until the claims have expired. */
export interface LateReleases {
  /** Repeats the release of claims until Redis carries it out, or they have expired. */
  add(keys: readonly string[], pending: string): void;
  /** Stops repeating. The claims that are left expire. */
  close(): void;
}

/** The claims of one call: keys, and the pending value of each. */
type Release = (keys: readonly string[], pending: readonly string[]) => Promise<unknown>;

const RETRY_MS = 250;
const KEYS_AT_ONCE = 500;
/** Limit on claims that wait for their release. Further claims are not released, but expire. */
const KEYS_MAX = 10_000;

interface Waiting {
  readonly key: string;
  readonly pending: string;
  readonly expiresMs: number;
}

/** @param now epoch milliseconds */
export function createLateReleases(release: Release, now: () => number): LateReleases {
  const waiting = new Map<string, Waiting>();
  let timer: NodeJS.Timeout | undefined;

  async function releaseSome(): Promise<void> {
    for (const [id, { expiresMs }] of waiting) {
      if (expiresMs <= now()) waiting.delete(id);
    }
    const some = [...waiting].slice(0, KEYS_AT_ONCE);
    if (some.length === 0) return;
    await release(
      some.map(([, { key }]) => key),
      some.map(([, { pending }]) => pending),
    );
    for (const [id] of some) waiting.delete(id);
  }

  function schedule(): void {
    timer = setTimeout(async () => {
      await releaseSome().catch(() => undefined);
      if (timer === undefined) return;
      timer = undefined;
      if (waiting.size > 0) schedule();
    }, RETRY_MS);
    timer.unref();
  }

  return {
    add(keys, pending) {
      const expiresMs = now() + PENDING_TTL_MS;
      for (const key of keys) {
        if (waiting.size < KEYS_MAX) waiting.set(`${pending} ${key}`, { key, pending, expiresMs });
      }
      if (timer === undefined && waiting.size > 0) schedule();
    },

    close() {
      waiting.clear();
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
