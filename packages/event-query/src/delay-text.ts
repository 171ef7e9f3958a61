import { DAY_MS } from './zone.js';

const COUNTS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];
const COUNT = String.raw`(\d{1,4}|an?|${COUNTS.join('|')})`;
const UNIT = '(second|minute|hour|day|week|month|year)s?';
const DELAY = new RegExp(`^(?:in ${COUNT} ${UNIT}|${COUNT} ${UNIT} from now)$`);

const SECOND_MS = 1000;
const UNIT_MS: Readonly<Record<string, number>> = {
  second: SECOND_MS,
  minute: 60 * SECOND_MS,
  hour: 3600 * SECOND_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
};
const UNIT_MONTHS: Readonly<Record<string, number>> = { month: 1, year: 12 };

function countOf(word: string): number {
  if (/^\d/.test(word)) return Number(word);
  return word.startsWith('a') ? 1 : COUNTS.indexOf(word) + 1;
}

/** The same day and time so many months on, or the last day of a month that is shorter. */
function monthsOn(nowMs: number, months: number): number {
  const date = new Date(nowMs);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return date.setUTCDate(Math.min(day, lastDay));
}

/** When a delay such as `in 7 days` or `two weeks from now` is over, in UTC; undefined for other texts. */
export function parseDelay(text: string, nowMs: number): number | undefined {
  const match = DELAY.exec(text.trim().replace(/\s+/g, ' ').toLowerCase());
  if (match === null) return undefined;
  const count = countOf(match[1] ?? match[3] ?? '');
  const unit = match[2] ?? match[4] ?? '';
  const unitMs = UNIT_MS[unit];
  return unitMs === undefined ? monthsOn(nowMs, count * (UNIT_MONTHS[unit] ?? 0)) : nowMs + count * unitMs;
}
