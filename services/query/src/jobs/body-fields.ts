import { mapErrorFields } from '@waymark/contract';
import { parseInput } from '@waymark/http-kit';
import type { z } from 'zod';

const FILTERS = 'filters';

/** The field of a job's or schedule's body that has the query parameter of an export: `filters.country` for `country`. */
export function bodyField(field: string): string {
  const isOfBody = field === 'columns' || field === 'format' || field.startsWith(FILTERS);
  return isOfBody ? field : filterField(field);
}

function filterField(field: string): string {
  return field === 'body' ? FILTERS : `${FILTERS}.${field}`;
}

/** Joins arrays to comma-separated texts. The schemas take an array for a repeated query parameter, of which they may use the last only. */
function listsAsTexts(filters: unknown): unknown {
  if (typeof filters !== 'object' || filters === null) return filters;
  return Object.fromEntries(
    Object.entries(filters).map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : value]),
  );
}

/**
 * Validates the filters of a job or schedule.
 *
 * @throws ApiError 400 or 422 that names the field by its path in the body, such as `filters.country`
 */
export function parseFilters<Schema extends z.ZodType>(schema: Schema, filters: unknown): Promise<z.output<Schema>> {
  return mapErrorFields(filterField, async () => parseInput(schema, listsAsTexts(filters)));
}
