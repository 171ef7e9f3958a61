import { ANALYTICS_EVENTS, GROUPINGS } from '@waymark/contract';
import fc from 'fast-check';
import { wishes } from '../arbitraries.js';
import type { Wish } from '../wish.js';
import type { AnalyticsWish } from './oracle.js';

const ZONES = [
  'UTC',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'America/St_Johns',
  'America/New_York',
  'Europe/Berlin',
  'Pacific/Kiritimati',
  'Pacific/Chatham',
] as const;

export const zones = fc.constantFrom(...ZONES);

/** Half of all requests have no filter but their range: those are what the roll-ups answer. */
export const filters: fc.Arbitrary<Wish> = fc.tuple(wishes, zones, fc.boolean()).map(([wish, zone, isPlain]) => {
  const range = wish.range.type === 'times' ? wish.range : { ...wish.range, zone };
  const plain = {
    lists: {},
    root: undefined,
    saleType: undefined,
    metadata: undefined,
    program: undefined,
    customer: undefined,
  };
  return { ...wish, range, ...(isPlain ? plain : {}) };
});

const GROUPED = GROUPINGS.filter((grouping) => grouping !== 'timeseries');

export const analyticsWishes: fc.Arbitrary<AnalyticsWish> = fc.record({
  event: fc.constantFrom(...ANALYTICS_EVENTS),
  grouping: fc.oneof(
    { weight: 1, arbitrary: fc.constant('count' as const) },
    { weight: 6, arbitrary: fc.constantFrom(...GROUPED) },
  ),
  filters,
});

/** How far back the workspace was made: hours, days or months. */
export const ages = fc.constantFrom(0, 1, 2, 3, 40, 180, 181, 400).map((days) => days * 24 * 3_600_000 + 12_345_678);
