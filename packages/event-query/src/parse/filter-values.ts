import {
  CONTINENTS,
  fieldError,
  isLinkReference,
  LINK_REFERENCE_RULE,
  type MultiValueFilter,
  RESOURCE_PREFIX,
  type ResourceKind,
  type RuleCode,
  TRIGGERS,
} from '@waymark/contract';
import { mapValues, type ValueLists } from './multi-value.js';

/** Letters A-Z only, like ClickHouse's `lower`: both sides of a comparison have to fold alike. */
export function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Codes are stored in capitals; a place that could not be resolved is stored as `Unknown`. */
function placeCode(value: string): string {
  return value.toLowerCase() === 'unknown' ? 'Unknown' : value.toUpperCase();
}

/** A subdivision with its country in front of it or without. */
function regionCode(value: string): string {
  const dash = value.indexOf('-');
  return dash < 0 ? placeCode(value) : `${placeCode(value.slice(0, dash))}-${placeCode(value.slice(dash + 1))}`;
}

const COUNTRY = /^(?:[a-z]{2}|unknown)$/i;
const REGION = /^(?:(?:[a-z]{2}|unknown)-)?(?:[a-z0-9]{1,3}|unknown)$/i;

/** Brings the values of a parameter to their stored form. @throws ApiError 422 for one that the parameter cannot have */
type Rule = (name: string, values: ValueLists) => ValueLists;

/** A value that no event can have is refused: an empty answer would mean that there are no such events. */
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

/** Ids of one kind; those that do not exist match nothing. */
function idsOf(kind: ResourceKind): Rule {
  const prefix = RESOURCE_PREFIX[kind];
  return only((value) => value.startsWith(prefix), `must begin with "${prefix}"`);
}

function each(change: (value: string) => string, check: Rule = (_name, values) => values): Rule {
  return (name, values) => mapValues(check(name, values), change);
}

const hosts = only((value) => !value.includes('://'), 'must be a host such as acme.com, not a URL');
const withoutQuery = only((value) => !value.includes('?'), 'must be a URL without its query, up to the ?');

/** How the values of a parameter are checked and brought to their stored form; all others compare as given. */
const RULES: Readonly<Partial<Record<MultiValueFilter, Rule>>> = {
  linkId: only(isLinkReference, LINK_REFERENCE_RULE),
  tagId: idsOf('tag'),
  partnerId: idsOf('partner'),
  partnerTagId: idsOf('partnerTag'),
  groupId: idsOf('partnerGroup'),
  domain: each((value) => value.toLowerCase(), hosts),
  country: each(
    placeCode,
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
  referer: hosts,
  refererUrl: withoutQuery,
  url: withoutQuery,
};

/**
 * @param name what the caller calls the parameter
 * @throws ApiError 422 for a value that the parameter cannot have
 */
export function normaliseValues(parameter: MultiValueFilter, values: ValueLists, name: string = parameter): ValueLists {
  return RULES[parameter]?.(name, values) ?? values;
}
