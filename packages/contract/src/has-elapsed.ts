/**
 * Whether a duration has passed since a time, by a clock that may have been set back since then: a time that is ahead by the duration or more
 * counts as long ago. So a wait lasts up to three times as long as it should, however far the clock was set back.
 */
export const hasElapsed = (sinceMs: number, durationMs: number, nowMs: number): boolean =>
  Math.abs(nowMs - sinceMs) >= durationMs;
