import { inject } from 'vitest';

/** Length of the scenarios: a few seconds each in `npm run verify`, minutes in `npm run faults`. */
export interface FaultLength {
  readonly isLong: boolean;
  /** How often each process is killed. */
  readonly kills: number;
  /** Events acknowledged between two kills. */
  readonly eventsBetweenKills: number;
  /**
   * Pause of a producer's loops between two events, in milliseconds; 0 is full speed. At full speed a scenario's load grows with the
   * time that it waits for restarts, and takes the processor from the tests beside it.
   */
  readonly pauseMs: number;
  /** Concurrent events of a producer, by kind. */
  readonly loops: { readonly clicks: number; readonly sales: number };
  /** Pause of a visitor of the whole stack between two visits, in milliseconds; 0 is full speed. */
  readonly visitorPauseMs: number;
  /** How long a store is down. */
  readonly awayMs: number;
  /** Longest wait for the last event to arrive. */
  readonly settleMs: number;
}

const LENGTHS: Readonly<Record<'short' | 'long', FaultLength>> = {
  short: {
    isLong: false,
    kills: 2,
    eventsBetweenKills: 240,
    pauseMs: 400,
    loops: { clicks: 40, sales: 8 },
    visitorPauseMs: 100,
    awayMs: 2000,
    settleMs: 120_000,
  },
  long: {
    isLong: true,
    kills: 8,
    eventsBetweenKills: 8000,
    pauseMs: 0,
    loops: { clicks: 100, sales: 20 },
    visitorPauseMs: 0,
    awayMs: 30_000,
    settleMs: 180_000,
  },
};

/** The length of this run; the only place that reads it. */
export const FAULTS = LENGTHS[inject('faultLength')];

/** Timeout of a scenario. */
export const SCENARIO_MS = FAULTS.isLong ? 900_000 : 300_000;
