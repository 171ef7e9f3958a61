import { z } from 'zod';
import { analyticsRowSchemas } from '../events/analytics.js';
import { eventFilterShape, intervalParameter } from '../events/events-query.js';
import { closedQuery } from '../values/closed-query.js';
import { queryEnum } from '../values/query-values.js';
import { partnerSelectorShape } from './partner.js';

/** Query of `GET /partners/analytics`; `partnerId` takes precedence over `tenantId`, and the default interval is `all`. */
export const partnerAnalyticsQuerySchema = closedQuery({
  ...partnerSelectorShape,
  groupBy: queryEnum(['count', 'timeseries', 'top_links']).describe(
    'One number for all (`count`, the default), a row for each bucket of time, or a row for each link.',
  ),
  interval: intervalParameter('all'),
  start: eventFilterShape.start,
  end: eventFilterShape.end,
  timezone: eventFilterShape.timezone,
  query: eventFilterShape.query,
});

/** Cents of USD; always 0, because commissions do not exist. */
const earnings = { earnings: z.number().describe('Always 0: there are no commissions.') };

/** Response of `GET /partners/analytics`: that of `GET /analytics`, with the earnings of the partner. */
export const partnerAnalyticsAnswerSchema = z.union([
  analyticsRowSchemas.count.extend(earnings),
  z.array(analyticsRowSchemas.timeseries.extend(earnings)),
  z.array(analyticsRowSchemas.top_links.extend(earnings)),
]);
