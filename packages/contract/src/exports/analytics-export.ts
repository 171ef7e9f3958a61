import type { z } from 'zod';
import { ANALYTICS_EVENTS } from '../events/analytics-query.js';
import { eventFilterShape } from '../events/events-query.js';
import { closedQuery } from '../values/closed-query.js';
import { queryEnum } from '../values/query-values.js';
import { escapeFormulas } from './export-parameters.js';

/** Query of `GET /analytics/export`: that of `GET /analytics` without a grouping. */
export const exportAnalyticsQuerySchema = closedQuery({
  event: queryEnum(ANALYTICS_EVENTS),
  ...eventFilterShape,
  escapeFormulas,
});
export type ExportAnalyticsQuery = z.infer<typeof exportAnalyticsQuerySchema>;
