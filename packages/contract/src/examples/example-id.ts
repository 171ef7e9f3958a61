import { formatResourceId, type ResourceKind } from '../values/resource-id.js';

/** When everything of the examples happened. */
export const EXAMPLE_TIME = '2026-03-04T12:30:45.678Z';

const MILLISECONDS = 22n;
/** Spreads the ids: neighbours would differ in their last character only. */
const STEP = 40_503n;

/** Id of the nth resource of a kind, counted from 1, in the order in which the answers of the examples show them. */
export function exampleId(kind: ResourceKind, place: number): string {
  return formatResourceId(kind, (BigInt(Date.parse(EXAMPLE_TIME)) << MILLISECONDS) + BigInt(place) * STEP);
}

const EVENT_IDS = ['k3V9sXq0ZbT7LmWa', 'm8Q2hYt5RcN4PzXe', 'p1D7wKj6GsB9VfUo', 't4H8nMx3CyL2QaRi', 'w6J5bPz9FvE1SdTu'];

/** Id of the nth click, lead or sale, counted from 1. */
export function exampleEventId(place: number): string {
  return EVENT_IDS[place - 1] ?? `z${place}`.padEnd(16, 'Z');
}
