import { CONTINENTS, type MultiValueFilter, TRIGGERS } from '@waymark/contract';
import { fault } from './fault.js';
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

function oneOf(allowed: readonly string[]) {
  return (parameter: MultiValueFilter, values: ValueLists): ValueLists => {
    if ([...values.include, ...values.exclude].some((value) => !allowed.includes(value))) {
      throw fault('invalid_value', parameter, `must be one of ${allowed.join(', ')}`);
    }
    return values;
  };
}

function each(change: (value: string) => string) {
  return (_parameter: MultiValueFilter, values: ValueLists): ValueLists => mapValues(values, change);
}

/** How the values of a parameter are checked and brought to their stored form; all others compare as given (spec 2.5). */
const RULES: Readonly<
  Partial<Record<MultiValueFilter, (parameter: MultiValueFilter, values: ValueLists) => ValueLists>>
> = {
  domain: each((value) => value.toLowerCase()),
  country: each(placeCode),
  region: each(regionCode),
  continent: oneOf(CONTINENTS),
  trigger: oneOf(TRIGGERS),
  device: each(foldCase),
  browser: each(foldCase),
  os: each(foldCase),
};

/** @throws ApiError 422 for a value that the parameter cannot have */
export function normaliseValues(parameter: MultiValueFilter, values: ValueLists): ValueLists {
  return RULES[parameter]?.(parameter, values) ?? values;
}
