import type { Catalog, KeyCaller } from '@waymark/catalog';
import {
  analyticsRowSchemas,
  csvItems,
  type ExportAnalyticsQuery,
  fieldError,
  GROUPINGS,
  type Grouping,
} from '@waymark/contract';
import type { Table } from '@waymark/export';
import { bindRequest } from '../analytics/bind-request.js';
import { readGroups } from '../analytics/read-groups.js';
import { type AnalyticsAnswer, createAnswerOf } from '../analytics/response-body.js';
import { callerOf } from '../events/find-references.js';
import type { ReadSlice } from './events-export.js';

/** @throws ApiError 422 for a grouping that does not exist */
function chooseGroupings(names: string | undefined): readonly Grouping[] {
  const named = csvItems(names ?? '');
  if (named.length === 0) return GROUPINGS;
  const groupings = named.map((name) => {
    const grouping = name === 'trigger' ? 'triggers' : GROUPINGS.find((known) => known === name);
    if (grouping !== undefined) return grouping;
    throw fieldError('invalid_value', 'groupBy', `must be a list of these groupings: ${GROUPINGS.join(', ')}`);
  });
  return [...new Set(groupings)];
}

async function rowsOf(answer: AnalyticsAnswer): Promise<object[]> {
  if (!('rows' in answer)) return [answer.numbers];
  const rows: object[] = [];
  for await (const part of answer.rows) rows.push(...part);
  return rows;
}

/** Creates the function that checks an export of analytics and reads its tables, for responses and for export jobs. */
export function createAnalyticsTables(catalog: Catalog) {
  const answerOf = createAnswerOf(catalog);

  /**
   * Checks the request, and reads nothing yet.
   *
   * @param nowMs the time that the range of the request is relative to, and at which it ends at the latest, so that all tables count the same
   * events
   * @returns a generator of the tables, one for each grouping, which reads each table on demand
   * @throws ApiError as GET /analytics does, and 422 for a grouping that does not exist
   */
  return async (caller: KeyCaller, query: Omit<ExportAnalyticsQuery, 'escapeFormulas'>, nowMs: number) => {
    const { groupBy: names, ...filters } = query;
    const groupings = chooseGroupings(names);
    const bind = (groupBy: Grouping) =>
      bindRequest({ catalog, now: () => nowMs }, caller, { ...filters, groupBy }, nowMs);
    await bind(groupings[0] ?? 'count');

    return async function* tables(readSlice: ReadSlice): AsyncGenerator<Table> {
      for (const groupBy of groupings) {
        const bound = await bind(groupBy);
        const groups = await readSlice((reads) => readGroups(reads, bound));
        const rows = (await rowsOf(answerOf(callerOf(caller), bound, groups))) as Record<string, unknown>[];
        yield { name: groupBy, columns: Object.keys(analyticsRowSchemas[groupBy].shape), rows };
      }
    };
  };
}
