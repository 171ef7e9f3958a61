import {
  CONTINENTS,
  domainName,
  fieldError,
  isoCountry,
  type MultiValueFilter,
  type RuleCode,
  TRIGGERS,
  withoutWww,
} from '@waymark/contract';
import { mapValues, type ValueLists } from './multi-value.js';

/** Lower-cases A-Z only, as ClickHouse's `lower` does: both sides of a comparison must be folded in the same way. */
function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The stored form of a code: upper case, or `Unknown` for a location that could not be resolved. */
function placeCode(value: string): string {
  return value.toLowerCase() === 'unknown' ? 'Unknown' : value.toUpperCase();
}

/** The stored form of a country's code: that of ISO 3166-1 also for `UK` and `EL`. */
function countryCode(value: string): string {
  return isoCountry(placeCode(value));
}

/** The stored form of a referrer's host: as {@link domainName}, without `www.`. */
function refererHost(value: string): string {
  return withoutWww(domainName(value));
}

/** The stored form of `CA` or, with its country, `US-CA`. */
function regionCode(value: string): string {
  const dash = value.indexOf('-');
  return dash < 0 ? placeCode(value) : `${countryCode(value.slice(0, dash))}-${placeCode(value.slice(dash + 1))}`;
}

const COUNTRY = /^(?:[a-z]{2}|unknown)$/i;
const REGION = /^(?:(?:[a-z]{2}|unknown)-)?(?:[a-z0-9]{1,3}|unknown)$/i;

/** Validates the values of a parameter and converts them to their stored form. @throws ApiError 422 for an invalid value */
type Rule = (name: string, values: ValueLists) => ValueLists;

/** Refuses values that no event can have: an empty result would look like "there are no such events". */
function only(isPossible: (value: string) => boolean, rule: string, issue: RuleCode = 'invalid_format'): Rule {
  return (name, values) => {
    if ([...values.include, ...values.exclude].every(isPossible)) return values;
    throw fieldError(issue, name, rule);
  };
}

function oneOf(allowed: readonly string[]): Rule {
  const words = allowed.map((value) => JSON.stringify(value)).join(', ');
  return only((value) => allowed.includes(value), `must be one of ${words}`, 'invalid_value');
}

function each(change: (value: string) => string, check: Rule = (_name, values) => values): Rule {
  return (name, values) => mapValues(check(name, values), change);
}

const hosts = only((value) => !value.includes('://'), 'must be a host such as acme.com, not a URL');
const withoutQuery = only((value) => !value.includes('?'), 'must be a URL without its query, up to the ?');

/**
 * Validation and conversion by parameter; values of parameters without an entry are compared as given. Ids are opaque: one that does not
 * exist, in whatever form, matches nothing.
 */
const RULES: Readonly<Partial<Record<MultiValueFilter, Rule>>> = {
  domain: each(domainName, hosts),
  country: each(
    countryCode,
    only((value) => COUNTRY.test(value), 'must be codes of two letters such as FR'),
  ),
  region: each(
    regionCode,
    only((value) => REGION.test(value), 'must be codes of ISO 3166-2 such as US-CA, or their second part'),
  ),
  continent: oneOf(CONTINENTS),
  trigger: oneOf(TRIGGERS),
  device: each(foldCase),
  browser: each(foldCase),
  os: each(foldCase),
  referer: each(refererHost, hosts),
  refererUrl: withoutQuery,
  url: withoutQuery,
};

/**
 * Validates the values of a filter and converts them to the form in which they are stored.
 *
 * @param name the name in error messages, for a parameter with a deprecated alias
 * @throws ApiError 422 for an invalid value
 */
export function normaliseValues(parameter: MultiValueFilter, values: ValueLists, name: string = parameter): ValueLists {
  return RULES[parameter]?.(name, values) ?? values;
}
