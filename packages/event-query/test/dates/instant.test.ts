import { describe, expect, test } from 'vitest';
import { parseInstant } from '../../src/index.js';

/** Saturday, 14:30. */
const NOW = Date.parse('2026-01-31T14:30:00.000Z');
const instant = (text: string) => new Date(parseInstant('expiresAt', text, NOW)).toISOString();

describe('an instant', () => {
  test.each([
    ['2026-03-04', '2026-03-04T12:00:00.000Z'],
    ['2026-03-04T05:06:07+02:00', '2026-03-04T03:06:07.000Z'],
    ['2026-03-04 05:06', '2026-03-04T05:06:00.000Z'],
    ['yesterday', '2026-01-30T12:00:00.000Z'],
    ['tomorrow at 5 pm', '2026-02-01T17:00:00.000Z'],
    ['now', '2026-01-31T14:30:00.000Z'],
    ['in 7 days', '2026-02-07T14:30:00.000Z'],
    ['  In  a   Week ', '2026-02-07T14:30:00.000Z'],
    ['within 3 days', '2026-02-03T14:30:00.000Z'],
    ['for 3 days', '2026-02-03T14:30:00.000Z'],
    ['in about 3 days', '2026-02-03T14:30:00.000Z'],
    ['3 days after now', '2026-02-03T14:30:00.000Z'],
    ['now + 1 day', '2026-02-01T14:30:00.000Z'],
    ['now - 1 day', '2026-01-30T14:30:00.000Z'],
    ['several days from now', '2026-02-07T14:30:00.000Z'],
    ['1d2h from now', '2026-02-01T16:30:00.000Z'],
    ['1.5 days from now', '2026-02-02T02:30:00.000Z'],
    ['half a year from now', '2026-07-31T14:30:00.000Z'],
    ['3 days after tomorrow', '2026-02-04T12:00:00.000Z'],
    ['two hours from now', '2026-01-31T16:30:00.000Z'],
    ['in 90 minutes', '2026-01-31T16:00:00.000Z'],
    ['in one month', '2026-02-28T14:30:00.000Z'],
    ['13 months from now', '2027-02-28T14:30:00.000Z'],
    ['in 3 years', '2029-01-31T14:30:00.000Z'],
    ['2 weeks and 3 hours from now', '2026-02-14T17:30:00.000Z'],
    ['7 days ago', '2026-01-24T14:30:00.000Z'],
    ['friday', '2026-02-06T12:00:00.000Z'],
    ['jan 5', '2027-01-05T12:00:00.000Z'],
    ['end of month', '2026-01-31T23:59:59.999Z'],
    ['end of next month', '2026-02-28T23:59:59.999Z'],
    ['next month', '2026-02-01T00:00:00.000Z'],
    ['last month', '2025-12-01T00:00:00.000Z'],
    ['Q2', '2026-04-01T00:00:00.000Z'],
    ['2027', '2027-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(instant(text)).toBe(expected);
  });

  test.each(['this week', 'january', '2026', 'last 7 days', 'next 7 days'])(
    '%s has begun and not ended: the request must say which moment it means',
    (text) => {
      expect(() => instant(text)).toThrow(/^invalid_format: expiresAt: .*end of this month/);
    },
  );

  test.each(['never', 'in days', 'in 7', '7 days', 'in 7 days ago', '03/04/2026', '1767225600000', '2026-02-31', ''])(
    '%s is refused with the name of the field',
    (text) => {
      expect(() => instant(text)).toThrow(/^invalid_format: expiresAt: /);
    },
  );
});
