/** When things happen in streams. Tests shorten these times. */
export interface StreamTimes {
  /** Poll interval of the tails of workspaces with streams: most of the delay of an event. */
  readonly pollMs: number;
  /** Between two heartbeats. Proxies close connections on which nothing was sent for a minute. */
  readonly heartbeatMs: number;
  /** Between two checks of a stream's key, which may expire. Changes of the key or its workspace are checked at once. */
  readonly recheckMs: number;
  /** Between two renewals of a stream's lease, which lasts a minute. */
  readonly renewMs: number;
  /** Shortest and longest life of a stream; each has its own, so that streams that begin together do not end together. */
  readonly lifetimeMs: readonly [min: number, max: number];
  /** How long a stream waits for stores that do not answer before it ends. */
  readonly patienceMs: number;
  /** How long a client may read nothing while something is to be sent. */
  readonly stalledMs: number;
}

export const STREAM_TIMES: StreamTimes = {
  pollMs: 50,
  heartbeatMs: 15_000,
  recheckMs: 60_000,
  renewMs: 20_000,
  lifetimeMs: [20 * 60_000, 30 * 60_000],
  patienceMs: 30_000,
  stalledMs: 30_000,
};

/** Shortest and longest time that a client waits before it connects again, so that not all do at once. */
export const RETRY_MS = [500, 2500] as const;

/** A random number of milliseconds between two bounds. */
export function jitter([min, max]: readonly [min: number, max: number]): number {
  return Math.round(min + Math.random() * (max - min));
}
