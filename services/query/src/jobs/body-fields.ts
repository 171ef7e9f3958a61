import { mapErrorFields } from '@waymark/contract';
import { parseInput } from '@waymark/http-kit';
import type { z } from 'zod';

const FILTERS = 'filters';

/** Names a field of a request for an export as the body of a job or schedule has it. */
export function bodyField(field: string): string {
  const isOfBody = field === 'columns' || field === 'format' || field.startsWith(FILTERS);
  return isOfBody ? field : filterField(field);
}

function filterField(field: string): string {
  return field === 'body' ? FILTERS : `${FILTERS}.${field}`;
}

/** Lists as CSV. Of a parameter that a query repeats, the last value may count; in a body, all of a list are meant. */
function listsAsTexts(filters: unknown): unknown {
  if (typeof filters !== 'object' || filters === null) return filters;
  return Object.fromEntries(
    Object.entries(filters).map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : value]),
  );
}

/**
 * Validates the filters of a job or schedule.
 *
 * @throws ApiError 400 or 422, which names fields as the body has them: `filters.format` is no filter, and not `format`
 */
export function parseFilters<Schema extends z.ZodType>(schema: Schema, filters: unknown): Promise<z.output<Schema>> {
  return mapErrorFields(filterField, async () => parseInput(schema, listsAsTexts(filters)));
}
