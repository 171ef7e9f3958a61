import { ANALYTICS_EVENTS, GROUPINGS } from '@waymark/contract';
import fc from 'fast-check';
import { requestSpecs } from '../arbitraries.js';
import type { RequestSpec } from '../request-spec.js';
import type { AnalyticsSpec } from './oracle.js';

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

/** Half of all requests have no filter except the range, because the rollups can only be used for those. */
export const filters: fc.Arbitrary<RequestSpec> = fc
  .tuple(requestSpecs, zones, fc.boolean())
  .map(([spec, zone, isPlain]) => {
    const range = spec.range.type === 'times' ? spec.range : { ...spec.range, zone };
    const plain = {
      lists: {},
      root: undefined,
      saleType: undefined,
      metadata: undefined,
      program: undefined,
      customer: undefined,
    };
    return { ...spec, range, ...(isPlain ? plain : {}) };
  });

const GROUPED = GROUPINGS.filter((grouping) => grouping !== 'timeseries');

export const analyticsSpecs: fc.Arbitrary<AnalyticsSpec> = fc.record({
  event: fc.constantFrom(...ANALYTICS_EVENTS),
  grouping: fc.oneof(
    { weight: 1, arbitrary: fc.constant('count' as const) },
    { weight: 6, arbitrary: fc.constantFrom(...GROUPED) },
  ),
  filters,
});

/** Ages of the workspace: hours, days or months. */
export const ages = fc.constantFrom(0, 1, 2, 3, 40, 180, 181, 400).map((days) => days * 24 * 3_600_000 + 12_345_678);
