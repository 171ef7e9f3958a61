import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseInstant } from '../../src/dates/instant.js';
import { parseTimeRange } from '../../src/dates/time-range.js';

const PAGE = readFileSync(new URL('../../../../docs/reference/dates.md', import.meta.url), 'utf8');
/** The current time in the examples of the page: Saturday 21 November 2026. */
const NOW = Date.parse('2026-11-21T14:30:00Z');

function section(title: string): string {
  return PAGE.split(`## ${title}`)[1]?.split('\n## ')[0] ?? '';
}

function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

const rows = section('What is read')
  .split('\n')
  .filter((line) => line.startsWith('| '));
const examples = rows.flatMap((row) => codeIn(row.split('|')[2] ?? ''));

test('the page has examples for the forms it lists', () => {
  expect(rows.length).toBeGreaterThan(15);
  expect(examples.length).toBeGreaterThan(60);
});

test.each(examples)('%s is accepted, as the reference says', (text) => {
  expect(() => parseTimeRange({ start: text, end: text }, NOW)).not.toThrow();
});

const REFUSED = [
  ...['03/04/2026', '3.4.2026', '03-04-26', '31/12/2026', 'yesterday at 5', 'midnight', 'Tuesday, 4 March 2026'],
  ...['2 hours before yesterday', '5pm + 3 hours', 'last hours', 'after this week', 'jan 5 to jan 7', '1772600000'],
  ...['1969', 'dec 31 1969', '1969/12/31'],
];

test.each(REFUSED)('%s is refused, as the reference says', (text) => {
  expect(codeIn(section('Dates that are refused'))).toContain(text);
  expect(() => parseTimeRange({ start: text }, NOW)).toThrow(/^invalid_format: start: /);
  expect(() => parseInstant('expiresAt', text, NOW)).toThrow(/^invalid_format: expiresAt: /);
});
