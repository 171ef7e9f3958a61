/** Intervals and time limits of streams, in milliseconds. Tests shorten them. */
export interface StreamTimes {
  /** How often tails are polled. Most of the delay between storing an event and sending it comes from this. */
  readonly pollMs: number;
  /** Between two heartbeats. Many proxies close connections on which nothing was sent for a minute. */
  readonly heartbeatMs: number;
  /** Between two checks of a stream's key, which may expire. Changes of the key or its workspace are checked at once. */
  readonly recheckMs: number;
  /** Between two renewals of a stream's lease, which lasts a minute. */
  readonly renewMs: number;
  /** Bounds of the lifetime of a stream, which is chosen at random, so that streams that begin together do not end together. */
  readonly lifetimeMs: readonly [min: number, max: number];
  /** How long a stream waits for stores that do not answer before it ends. */
  readonly giveUpAfterMs: number;
  /** How long frames are kept for other streams, and how long those that a stream has taken may be sent: what it shows may have been removed, hidden or erased meanwhile. */
  readonly framesKeptMs: number;
  /** How long a client may read nothing while its buffer is full. */
  readonly stalledMs: number;
}

/** The times in production. */
export const STREAM_TIMES: StreamTimes = {
  pollMs: 50,
  heartbeatMs: 15_000,
  recheckMs: 60_000,
  renewMs: 20_000,
  lifetimeMs: [20 * 60_000, 30 * 60_000],
  giveUpAfterMs: 30_000,
  framesKeptMs: 30_000,
  stalledMs: 30_000,
};

/** Bounds of the time after which a client connects again, which is chosen at random, so that not all connect at once. */
export const RETRY_MS = [500, 2500] as const;

/** A random number of milliseconds between two bounds. */
export function jitter([min, max]: readonly [min: number, max: number]): number {
  return Math.round(min + Math.random() * (max - min));
}
