import { reportText } from './as-json.js';
import {
  CLEARABLE,
  CLEARABLE_FLAGS,
  type Clearable,
  type Lost,
  RowError,
  type SourceCounts,
  type SourceTag,
} from './source-link.js';
import { timeOf } from './times.js';

const VALUE_CHARS_MAX = 500;
const TRUE = new Set(['true', '1', 'yes', 'y']);
const FALSE = new Set(['false', '0', 'no', 'n', '']);
/** A number with dots between its thousands, as a German spreadsheet writes it. It is not converted: `1.000` may as well be 1 with decimals. */
const DOTTED = /^\d{1,3}(?:\.\d{3})+$/;
/** Largest counter that is accepted: larger numbers are not exact in JavaScript and in sums. */
const COUNT_MAX = 1e15;

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

const wordOf = (value: unknown) =>
  String(value ?? '')
    .trim()
    .toLowerCase();

/** A value as reports of losses show it. */
export function shownValue(value: unknown): string {
  return reportText(value).slice(0, VALUE_CHARS_MAX);
}

/** Whether the value is an object, and no array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads the fields of one record by name and type. `lost` lists the fields that nothing has read, so that no field of a source is dropped
 * without being reported.
 *
 * @param timezone IANA zone of times that the record has without a zone
 * @throws RowError when the record is no object; the readers throw it for a value of another type
 */
export function fieldsOf(record: unknown, timezone?: string) {
  if (!isObject(record)) throw new RowError('the record must be an object');
  const taken = new Set<string>();
  const losses: Lost[] = [];

  function take(name: string): unknown {
    taken.add(name);
    return Object.hasOwn(record as object, name) ? (record as Record<string, unknown>)[name] : undefined;
  }

  function text(name: string): string | null {
    const value = take(name);
    if (value === null || value === undefined || value === '') return null;
    if (typeof value === 'string') return value;
    if (typeof value === 'number') return String(value);
    throw new RowError(`${name} must be a text`);
  }

  return {
    take,
    text,

    /** The text of the field, trimmed. @throws RowError when it is missing or blank */
    required(name: string): string {
      const value = text(name);
      if (value === null || value.trim() === '') throw new RowError(`${name} is missing`);
      return value.trim();
    },

    flag(name: string): boolean {
      const word = wordOf(take(name));
      if (TRUE.has(word)) return true;
      if (FALSE.has(word)) return false;
      throw new RowError(`${name} must be true or false`);
    },

    time: (name: string): string | null => timeOf(name, take(name), timezone),

    /** A counter, such as a number of clicks; null when the record has none. */
    count(name: string): number | null {
      const value = take(name);
      if (value === null || value === undefined || value === '') return null;
      const text = typeof value === 'string' ? value.trim().replace(/[, ](?=\d{3}\b)/g, '') : value;
      if (typeof text === 'string' && DOTTED.test(text))
        throw new RowError(`${name} "${text}" must be written without dots`);
      const number = typeof text === 'string' ? Number(text) : text;
      if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= COUNT_MAX) return number;
      throw new RowError(`${name} must be a whole number`);
    },

    /** The fields of a link for which the record has a field without a value. @param names names of the record's fields by those of a link */
    cleared(names: Readonly<Partial<Record<Clearable, string>>>): Clearable[] {
      return CLEARABLE.filter((field) => {
        const name = names[field];
        if (name === undefined || !Object.hasOwn(record, name)) return false;
        return CLEARABLE_FLAGS.has(field) ? FALSE.has(wordOf(record[name])) : isEmpty(record[name]);
      });
    },

    /** Reports a value, unless it is empty, as one that cannot be stored. */
    reportLost(field: string, value: unknown, reason: string): void {
      if (!isEmpty(value)) losses.push({ field, value: shownValue(value), reason });
    },

    /**
     * Everything that cannot be stored: the values passed to `reportLost`, and the fields that were not read.
     *
     * @param ignored fields that need no report
     */
    lost(ignored: ReadonlySet<string> = new Set()): Lost[] {
      for (const [field, value] of Object.entries(record)) {
        if (taken.has(field) || ignored.has(field) || isEmpty(value)) continue;
        losses.push({ field, value: shownValue(value), reason: 'has no place here' });
      }
      return losses;
    },
  };
}
export type Fields = ReturnType<typeof fieldsOf>;

/** All counters of a link, with 0 for those that the source does not have; null when it has none at all. */
export function countsOf(counts: { readonly [K in keyof SourceCounts]?: number | null }): SourceCounts | null {
  const { clicks, leads, conversions, sales, saleAmount } = counts;
  if ([clicks, leads, conversions, sales, saleAmount].every((count) => count === null || count === undefined))
    return null;
  return {
    clicks: clicks ?? 0,
    leads: leads ?? 0,
    conversions: conversions ?? 0,
    sales: sales ?? 0,
    saleAmount: saleAmount ?? 0,
  };
}

/** Tags from a list of names, or of objects with a `name`. @throws RowError for any other value */
export function tagsOf(field: string, value: unknown): SourceTag[] {
  if (value === null || value === undefined || value === '') return [];
  if (!Array.isArray(value)) throw new RowError(`${field} must be a list`);
  const names = value.map((tag: unknown) => (isObject(tag) ? tag.name : tag));
  if (names.some((name) => typeof name !== 'string')) throw new RowError(`${field} must be a list of names`);
  return [...new Set((names as string[]).map((name) => name.trim()))]
    .filter((name) => name !== '')
    .map((name) => ({ name }));
}

/**
 * Domain and key of a URL such as `https://go.acme.com/a/b?c`: the key is the path after its first slash, here `a/b`.
 *
 * @throws RowError without a domain
 */
export function addressOf(field: string, address: string): { readonly domain: string; readonly key: string } {
  const [, domain = '', path = ''] = /^(?:https?:\/\/)?([^/?#\s]+)(?:\/([^?#]*))?/i.exec(address.trim()) ?? [];
  if (domain === '') throw new RowError(`${field} must be an address such as go.acme.com/key`);
  return { domain: domain.toLowerCase(), key: decoded(path) };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
