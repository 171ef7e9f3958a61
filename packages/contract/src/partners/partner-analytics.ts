import { z } from 'zod';
import { analyticsRowSchemas } from '../events/analytics.js';
import { eventFilterShape } from '../events/events-query.js';
import { closedQuery } from '../values/closed-query.js';
import { queryEnum, queryText } from '../values/query-values.js';

/** Query of `GET /partners/analytics`; `partnerId` takes precedence over `tenantId`, and the default interval is `all`. */
export const partnerAnalyticsQuerySchema = closedQuery({
  partnerId: queryText,
  tenantId: queryText,
  groupBy: queryEnum(['count', 'timeseries', 'top_links']),
  interval: eventFilterShape.interval,
  start: eventFilterShape.start,
  end: eventFilterShape.end,
  timezone: eventFilterShape.timezone,
  query: eventFilterShape.query,
});

/** Cents of USD; always 0, because commissions do not exist. */
const earnings = { earnings: z.number() };

/** Response of `GET /partners/analytics`: that of `GET /analytics`, with the earnings of the partner. */
export const partnerAnalyticsAnswerSchema = z.union([
  analyticsRowSchemas.count.extend(earnings),
  z.array(analyticsRowSchemas.timeseries.extend(earnings)),
  z.array(analyticsRowSchemas.top_links.extend(earnings)),
]);
