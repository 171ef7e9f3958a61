import { formatResourceId, type ResourceKind } from '../values/resource-id.js';

/** Every time in the examples has this value. */
export const EXAMPLE_TIME = '2026-03-04T12:30:45.678Z';

/** Position of the milliseconds in an id; see `createResourceId`. */
const MILLISECONDS = 22n;
/** Distance of two ids, so that they differ in more than their last character. */
const STEP = 40_503n;

/** Id of the nth resource of a kind, counted from 1, in the order of the example responses. */
export function exampleId(kind: ResourceKind, position: number): string {
  return formatResourceId(kind, (BigInt(Date.parse(EXAMPLE_TIME)) << MILLISECONDS) + BigInt(position) * STEP);
}

const EVENT_IDS = ['k3V9sXq0ZbT7LmWa', 'm8Q2hYt5RcN4PzXe', 'p1D7wKj6GsB9VfUo', 't4H8nMx3CyL2QaRi', 'w6J5bPz9FvE1SdTu'];

/** Id of the nth click, lead or sale, counted from 1. */
export function exampleEventId(position: number): string {
  return EVENT_IDS[position - 1] ?? `z${position}`.padEnd(16, 'Z');
}
