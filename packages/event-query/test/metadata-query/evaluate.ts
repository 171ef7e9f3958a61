import type { MetadataCondition, MetadataQuery } from '../../src/metadata-query/metadata-query.js';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type Metadata = { readonly [key: string]: Json } | null;

function isInner(value: Json): value is readonly Json[] | { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null;
}

/** The value at a path; undefined when there is none. */
function at(metadata: Metadata, keys: readonly string[]): Json | undefined {
  let value: Json | undefined = metadata ?? undefined;
  for (const key of keys) {
    if (value === undefined || !isInner(value)) return undefined;
    value = new Map(Object.entries(value)).get(key);
  }
  return value;
}

const DECIMAL = /^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)(e[+-]?[0-9]+)?$/i;

function matches(metadata: Metadata, condition: MetadataCondition): boolean {
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

/** Evaluates a query on an event's metadata, without SQL. */
export function evaluate(query: MetadataQuery, metadata: Metadata): boolean {
  switch (query.type) {
    case 'and':
      return query.of.every((part) => evaluate(part, metadata));
    case 'or':
      return query.of.some((part) => evaluate(part, metadata));
    case 'not':
      return !evaluate(query.of, metadata);
    default:
      return matches(metadata, query);
  }
}
