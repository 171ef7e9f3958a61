import {
  PLANS,
  type Plan,
  parseLinkHost,
  type Quotas,
  quotasSchema,
  RETENTION_DAYS_MAX,
  SCOPES,
  type Scope,
} from '@waymark/contract';
import { z } from 'zod';
import { CommandError } from './command-error.js';

/** The value of an option from the command line parser; repeated options are arrays. */
export type RawOption = string | number | boolean | readonly (string | number | boolean)[] | undefined;

/** The text of an option; undefined when it is not given. @throws CommandError when it is empty or repeated */
export function optionalText(name: string, value: RawOption): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'boolean' || value === '') throw new CommandError(`--${name} needs a value`);
  if (typeof value === 'object') throw new CommandError(`--${name} must not be repeated`);
  return String(value);
}

/** The text of an option. @throws CommandError when it is missing, empty or repeated */
export function requiredText(name: string, value: RawOption): string {
  const text = optionalText(name, value);
  if (text === undefined) throw new CommandError(`--${name} is required`);
  return text;
}

/** A domain for links, in lower case and punycode, with its port if one is given. @throws CommandError */
export function domainOption(name: string, value: RawOption): string | undefined {
  const text = optionalText(name, value);
  try {
    return text && parseLinkHost(text);
  } catch (err) {
    throw new CommandError(`--${name} ${(err as RangeError).message}`);
  }
}

/** An http(s) URL, or an empty text to remove it; undefined when the option is not given. @throws CommandError */
export function urlOption(name: string, value: RawOption): string | undefined {
  if (value === '') return '';
  const text = optionalText(name, value);
  if (text === undefined || (/^https?:\/\//i.test(text) && URL.canParse(text))) return text;
  throw new CommandError(`--${name} must be a URL, such as https://acme.com`);
}

/** The address of a service, without a slash at its end; undefined when the option is not given. @throws CommandError */
export function addressOption(name: string, value: RawOption): string | undefined {
  return urlOption(name, optionalText(name, value))?.replace(/\/$/, '');
}

/**
 * The items of a comma-separated or repeated option; undefined when it is not given.
 *
 * @param separator between items; by default also spaces
 * @throws CommandError when it has none, such as of an empty variable of the shell: an empty list often means all
 */
export function textList(name: string, value: RawOption, separator: RegExp = /[\s,]+/): string[] | undefined {
  if (value === undefined) return undefined;
  const items = (typeof value === 'object' ? value : [value])
    .flatMap((entry) => (optionalText(name, entry) ?? '').split(separator))
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (items.length === 0) throw new CommandError(`--${name} needs a value`);
  return items;
}

const isoTime = z.iso.datetime({ offset: true });

/** A time; undefined when the option is not given. @throws CommandError */
export function timeOption(name: string, value: RawOption): Date | undefined {
  const text = optionalText(name, value);
  if (text === undefined) return undefined;
  // `Date` alone would also take days that do not exist, as those after them, and times without a zone as local ones.
  if (isoTime.safeParse(text).success) return new Date(text);
  throw new CommandError(`--${name} must be a time with its zone, such as 2027-01-31T00:00:00Z`);
}

/** The text, if it is a known one. @param refusal how the message for another text begins; the known ones follow. @throws CommandError */
export function oneOf<T extends string>(known: readonly T[], text: string, refusal: string): T {
  const found = known.find((one) => one === text);
  if (found === undefined) throw new CommandError(`${refusal} ${known.join(', ')}`);
  return found;
}

/** An option with a few known values; `usual` when it is not given. @throws CommandError for another value */
export function choiceOption<T extends string, U extends T | undefined>(
  name: string,
  value: RawOption,
  known: readonly T[],
  usual: U,
): T | U {
  const text = optionalText(name, value);
  return text === undefined ? usual : oneOf(known, text, `--${name} must be one of`);
}

/** The numbers that an option takes. */
export interface Numbers {
  /** The lowest one; without it, every number above 0. */
  readonly min?: number;
  readonly max?: number;
  /** Whether it has no decimals. */
  readonly isWhole?: boolean;
  /** Says in messages which numbers these are, such as `the number of a shard`. */
  readonly what?: string;
  /** The number when the option is not given; without it, the option is required. */
  readonly usual?: number;
}

function describeNumbers({ min, max, isWhole }: Numbers): string {
  const from = min === undefined ? 'above 0' : `from ${min}`;
  const to = max === undefined ? '' : `${min === undefined ? ', up' : ''} to ${max}`;
  return `a ${isWhole ? 'whole ' : ''}number ${from}${to}`;
}

/** The number of an option. @throws CommandError when it is missing, or not one of those that the option takes */
export function numberOption(name: string, value: RawOption, range: Numbers): number {
  const { min = Number.MIN_VALUE, max = Number.POSITIVE_INFINITY, isWhole = false, usual } = range;
  if (value === undefined && usual !== undefined) return usual;
  const text = (optionalText(name, value) ?? '').trim();
  const number = Number(text);
  if (text !== '' && number >= min && number <= max && (!isWhole || Number.isSafeInteger(number))) return number;
  throw new CommandError(`--${name} must be ${range.what ?? describeNumbers(range)}`);
}

/** Maximum number of rows that a list of the command line has. */
export const ROWS_MAX = 10_000;

/** The number of rows of a list, from `--limit`; 100 by default. @throws CommandError */
export function rowLimit(value: RawOption): number {
  return numberOption('limit', value, { min: 1, max: ROWS_MAX, isWhole: true, usual: 100 });
}

/** Larger sizes of the plan business, which Waymark does not distinguish. */
const BUSINESS_SIZE = /^business (?:plus|max|extra)$/;

/** The plan of an option; undefined when it is not given. @throws CommandError for an unknown plan */
export function planOption(value: RawOption): Plan | undefined {
  const text = optionalText('plan', value);
  return choiceOption('plan', text && BUSINESS_SIZE.test(text) ? 'business' : text, PLANS, undefined);
}

/** The scopes of an option; empty when it is not given. @throws CommandError for an unknown scope, or when it names none */
export function scopesOption(value: RawOption): Scope[] {
  return (textList('scopes', value) ?? []).map((text) => oneOf(SCOPES, text, `"${text}" is not a scope; scopes are:`));
}

/** A whole number, or null for `plan`, which means the limit of the plan; undefined when the option is not given. @throws CommandError */
export function limitOption(name: string, value: RawOption, minimum: number): number | null | undefined {
  const text = optionalText(name, value);
  if (text === undefined) return undefined;
  if (text === 'plan') return null;
  const what = `a whole number from ${minimum}, or "plan" for the plan's limit`;
  return numberOption(name, text, { min: minimum, isWhole: true, what });
}

/**
 * The days that a workspace keeps data, or null for `installation`, which means the setting of the installation; undefined when the option
 * is not given.
 *
 * @param installationDays days that no workspace may exceed; undefined = no limit
 * @throws CommandError
 */
export function retentionOption(
  name: string,
  value: RawOption,
  minimum: number,
  installationDays: number | undefined,
): number | null | undefined {
  const text = optionalText(name, value);
  if (text === undefined) return undefined;
  if (text === 'installation') return null;
  const max = installationDays ?? RETENTION_DAYS_MAX;
  const allowed = minimum > max ? 'less than the installation allows' : `from ${minimum} to ${max}`;
  const what = `a whole number ${allowed}, or "installation"`;
  return numberOption(name, text, { min: minimum, max, isWhole: true, what });
}

type QuotaChange = { [K in keyof Quotas]?: number | null | 'plan' };

const QUOTA_NAMES = Object.keys(quotasSchema.shape) as (keyof Quotas)[];

function quotaChange(entry: string): QuotaChange {
  const [name = '', value = ''] = entry.split('=');
  const quota = oneOf(QUOTA_NAMES, name, `"${name}" is not a quota; quotas are:`);
  if (value === 'plan') return { [quota]: 'plan' };
  if (value === 'unlimited') return { [quota]: null };
  if (/^\d{1,15}$/.test(value)) return { [quota]: Number(value) };
  throw new CommandError(`${name} must be a whole number, "unlimited", or "plan" for the plan's quota`);
}

/**
 * Applies an option such as `linksPerMonth=1000,domains=unlimited,tags=plan` to the quotas of a workspace that differ from its plan.
 *
 * @returns undefined when the option is not given
 * @throws CommandError
 */
export function applyQuotas(value: RawOption, current: Partial<Quotas>): Partial<Quotas> | undefined {
  const entries = textList('quotas', value);
  if (entries === undefined) return undefined;
  const merged: QuotaChange = Object.assign({ ...current }, ...entries.map(quotaChange));
  return Object.fromEntries(Object.entries(merged).filter(([, quota]) => quota !== 'plan'));
}
