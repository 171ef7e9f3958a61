import type { z } from 'zod';
import { analyticsEvent } from '../events/analytics-query.js';
import { eventFilterShape } from '../events/events-query.js';
import { closedQuery } from '../values/closed-query.js';
import { queryList } from '../values/query-values.js';
import { escapeFormulas } from './export-parameters.js';

/** Query of `GET /analytics/export`: that of `GET /analytics`, with a list of groupings. */
export const exportAnalyticsQuerySchema = closedQuery({
  event: analyticsEvent,
  ...eventFilterShape,
  groupBy: queryList.describe('The groupings to export, such as `countries,devices`; all of them by default.'),
  escapeFormulas,
});
export type ExportAnalyticsQuery = z.infer<typeof exportAnalyticsQuerySchema>;
