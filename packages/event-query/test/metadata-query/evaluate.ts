import type { MetadataCondition, MetadataQuery } from '../../src/metadata-query/metadata-query.js';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type Metadata = { readonly [key: string]: Json } | null;

function isInner(value: Json): value is readonly Json[] | { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null;
}

/** What stands at a place; undefined when nothing does. */
function at(metadata: Metadata, keys: readonly string[]): Json | undefined {
  let place: Json | undefined = metadata ?? undefined;
  for (const key of keys) {
    if (place === undefined || !isInner(place)) return undefined;
    place = new Map(Object.entries(place)).get(key);
  }
  return place;
}

const DECIMAL = /^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)(e[+-]?[0-9]+)?$/i;

function meets(metadata: Metadata, condition: MetadataCondition): boolean {
  const value = at(metadata, condition.keys);
  if (value === undefined) return false;
  if (condition.type === 'exists') return true;
  if (isInner(value)) return false;
  if (condition.type === 'equals') return String(value) === condition.text;
  const number = DECIMAL.test(String(value)) ? Number(value) : Number.NaN;
  if (!Number.isFinite(number)) return false;
  const { operator, number: limit } = condition;
  return { '>': number > limit, '>=': number >= limit, '<': number < limit, '<=': number <= limit }[operator];
}

/** What a query says of an event's metadata, worked out without SQL. */
export function evaluate(query: MetadataQuery, metadata: Metadata): boolean {
  switch (query.type) {
    case 'and':
      return query.of.every((part) => evaluate(part, metadata));
    case 'or':
      return query.of.some((part) => evaluate(part, metadata));
    case 'not':
      return !evaluate(query.of, metadata);
    default:
      return meets(metadata, query);
  }
}
