import { inject } from 'vitest';

/** How hard the queue is treated: a few seconds a scenario in `npm run verify`, minutes in `npm run faults`. */
export interface FaultLength {
  readonly isLong: boolean;
  /** Times each process is killed. */
  readonly kills: number;
  /** Events acknowledged between two kills. */
  readonly eventsBetweenKills: number;
  /** How long a store stays away. */
  readonly awayMs: number;
  /** Longest wait for the last event to arrive. */
  readonly settleMs: number;
}

const LENGTHS: Readonly<Record<'short' | 'long', FaultLength>> = {
  short: { isLong: false, kills: 2, eventsBetweenKills: 600, awayMs: 2000, settleMs: 120_000 },
  long: { isLong: true, kills: 8, eventsBetweenKills: 8000, awayMs: 30_000, settleMs: 180_000 },
};

/** The length of this run: the one place that looks. */
export const FAULTS = LENGTHS[inject('faultLength')];

/** Longest a scenario may take. */
export const SCENARIO_MS = FAULTS.isLong ? 900_000 : 300_000;
