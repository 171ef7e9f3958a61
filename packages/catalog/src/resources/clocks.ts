/**
 * How far apart the clocks of two processes may be, where a time that each has stored decides whether one of them read before the other made
 * a change (docs/production.md, clocks). Work that began up to this long after the change counts as work that may have read before it.
 */
export const CLOCKS_APART_MS = 30_000;
