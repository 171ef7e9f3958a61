/** Regular expressions for words in dates (lower case, single spaces), and functions for their values. */

export const MONTH =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)';
export const WEEKDAY =
  '(?:mon(?:day)?|tue(?:s|sday)?|wed(?:s|nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)';
export const COUNT =
  String.raw`(?:\d{1,9}(?:\.\d{1,9})?|half(?: an?)?|(?:a )?couple(?: of)?|(?:an? )?few|several|an?|the` +
  '|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)';

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const COUNTS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];

/** 1 to 12. */
export function monthNumber(word: string): number {
  return MONTHS.indexOf(word.slice(0, 3)) + 1;
}

/** 0 = Monday. */
export function weekdayNumber(word: string): number {
  return WEEKDAYS.indexOf(word.slice(0, 3));
}

/** The number for digits, number words, `half`, and vague words such as `several`, with the same values as in chrono-node. */
export function countOf(word: string): number {
  if (/^\d/.test(word)) return Number(word);
  if (word.includes('couple')) return 2;
  if (word.includes('few')) return 3;
  if (word.startsWith('half')) return 0.5;
  if (word === 'several') return 7;
  return ['a', 'an', 'the'].includes(word) ? 1 : COUNTS.indexOf(word) + 1;
}
