import type { Plan } from '@waymark/contract';
import { expect, test } from 'vitest';
import { parseTimeRange, type RangeParameters } from '../src/dates/time-range.js';
import { checkDateRange } from '../src/parse/date-range-limits.js';

const NOW = Date.parse('2026-11-21T14:30:00Z');
const DAY_MS = 24 * 3_600_000;

function isRefused(plan: Plan, parameters: RangeParameters, ageInDays = 10, nowMs = NOW): boolean {
  const range = parseTimeRange(parameters, nowMs);
  try {
    checkDateRange({ plan, createdAt: new Date(nowMs - ageInDays * DAY_MS).toISOString() }, range);
    return false;
  } catch (err) {
    expect(err).toMatchObject({ code: 'forbidden', status: 403 });
    return true;
  }
}

test('the free plan refuses long intervals, but not the current month or quarter', () => {
  const refused = (['24h', '7d', '30d', '90d', '1y', 'mtd', 'qtd', 'ytd', 'all'] as const).filter((interval) =>
    isRefused('free', { interval }),
  );
  expect(refused).toEqual(['90d', '1y', 'ytd']);
});

test('the length of a range is measured in days, rounded up, whatever the order of its dates', () => {
  const start = '2026-10-01T00:00:00Z';
  expect(isRefused('free', { start, end: '2026-11-01T00:00:00Z' })).toBe(false);
  expect(isRefused('free', { start, end: '2026-11-01T00:00:00.001Z' })).toBe(true);
  expect(isRefused('free', { start: '2026-11-01T00:00:00.001Z', end: start })).toBe(true);
  expect(isRefused('free', { start: '2026-10-01', end: '2026-11-01' })).toBe(false);
  expect(isRefused('pro', { start: '2025-01-01', end: '2026-01-02' })).toBe(false);
  expect(isRefused('pro', { start: '2025-01-01', end: '2026-01-03' })).toBe(true);
});

test('a period is measured by its real length', () => {
  expect(isRefused('free', { start: 'last month', end: 'last month' })).toBe(false);
  expect(isRefused('free', { start: 'q3', end: 'q3' })).toBe(true);
  expect(isRefused('pro', { start: '2024', end: '2024' })).toBe(false);
  expect(isRefused('pro', { start: '2024', end: 'jan 2 2025' })).toBe(true);
});

test('the default end of a range is now', () => {
  expect(isRefused('free', { start: '2026-10-21T14:30:00Z' })).toBe(false);
  expect(isRefused('free', { start: '2026-10-21T14:29:59Z' })).toBe(true);
});

test.each([0, 12, 14.5, 23.999])('days counted from now have the same length at every time of day (%s h)', (hour) => {
  const nowMs = Date.parse('2026-11-21T00:00:00Z') + hour * 3_600_000;
  const refused = (plan: Plan, parameters: RangeParameters) => isRefused(plan, parameters, 10, nowMs);
  for (const timezone of ['UTC', 'Asia/Kolkata', 'America/Phoenix']) {
    expect(refused('free', { start: '31 days ago', timezone })).toBe(false);
    expect(refused('free', { start: '32 days ago', timezone })).toBe(true);
    expect(refused('free', { start: 'now', end: 'in 31 days', timezone })).toBe(false);
    expect(refused('free', { start: 'now', end: 'in 32 days', timezone })).toBe(true);
    expect(refused('free', { start: '41 days ago', end: '10 days ago', timezone })).toBe(false);
    expect(refused('pro', { start: '366 days ago', timezone })).toBe(false);
    expect(refused('pro', { start: '367 days ago', timezone })).toBe(true);
    expect(refused('pro', { start: '1 year ago', timezone })).toBe(false);
    expect(refused('pro', { start: '366 days ago', end: 'today', timezone })).toBe(false);
    expect(refused('pro', { start: '367 days ago', end: 'today', timezone })).toBe(true);
    expect(refused('pro', { start: '2025-11-20', end: '0 days ago', timezone: 'UTC' })).toBe(false);
    expect(refused('pro', { start: '2025-11-19', end: '0 days ago', timezone: 'UTC' })).toBe(true);
  }
});

test('a day without a time is measured from its noon in the time zone', () => {
  const nowMs = Date.parse('2026-11-21T14:30:00Z');
  const refused = (timezone: string) => isRefused('pro', { start: '2025-11-20', timezone }, 10, nowMs);
  expect(refused('America/Los_Angeles')).toBe(false);
  expect(refused('UTC')).toBe(true);
});

test('interval=all is measured from the creation of the workspace', () => {
  expect(isRefused('free', { interval: 'all' }, 31)).toBe(false);
  expect(isRefused('free', { interval: 'all' }, 32)).toBe(true);
  expect(isRefused('pro', { interval: 'all' }, 366)).toBe(false);
  expect(isRefused('pro', { interval: 'all' }, 367)).toBe(true);
});

test('explicit dates are measured even if an interval is given too', () => {
  expect(isRefused('free', { interval: '1y', start: '2026-11-20' })).toBe(false);
});

test.each(['business', 'advanced', 'enterprise'] as const)('the plan %s refuses no range', (plan) => {
  expect(isRefused(plan, { interval: 'all' }, 4000)).toBe(false);
  expect(isRefused(plan, { start: '1990-01-01', end: '2090-01-01' })).toBe(false);
});
