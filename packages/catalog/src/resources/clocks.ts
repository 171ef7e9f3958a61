/**
 * How far apart the clocks of two processes may be, where the times that both have stored decide whether the one read before the other's change
 * (docs/production.md, clocks). Work that began in this time after the change counts as work that may have read before it.
 */
export const CLOCKS_APART_MS = 30_000;
