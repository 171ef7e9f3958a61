import type { Catalog } from '@waymark/catalog';
import type { ClickHouseClient, QueryCaller, QueryReport } from '@waymark/clickhouse';
import { createTails, type Tails } from '@waymark/event-queue';
import type { ExportDeps } from '@waymark/export';
import { type App, authPlugin, type CreateAppOptions, createApp } from '@waymark/http-kit';
import { type Operations, requestCountPlugin } from '@waymark/observability';
import type { RateLimiter } from '@waymark/rate-limit';
import { createReplication } from '@waymark/redis';
import { createJobEndNotifier } from '@waymark/webhooks';
import type { Redis } from 'ioredis';
import { analyticsRoutes } from './analytics/analytics-routes.js';
import { eventRoutes } from './events/event-routes.js';
import { analyticsExportRoutes } from './export/analytics-export-routes.js';
import { eventsExportRoutes } from './export/event-export-routes.js';
import { exportJobs, type JobSettings } from './jobs/export-jobs.js';
import { partnerAnalyticsRoutes } from './partner-analytics/partner-analytics-routes.js';
import { createPlannerCache } from './planner-cache.js';
import { exportSchedules, type ScheduleSettings } from './schedules/export-schedules.js';
import { streamRoutes } from './stream/stream-routes.js';
import type { StreamTimes } from './stream/stream-times.js';
import { createReadRunners } from './workspace-concurrency.js';

/** Dependencies of the routes. */
export interface QueryDeps extends ExportDeps, JobSettings, ScheduleSettings {
  readonly catalog: Catalog;
  readonly clickhouse: ClickHouseClient;
  /** Holds the leases of export jobs and schedules. */
  readonly redis: Redis;
  /** A connection to each queue shard, by its number. Streams open connections of their own to the same servers. */
  readonly queueShards: readonly Redis[];
  /**
   * How many replicas of Redis must confirm an event's place in the tail before a stream sends it, and that the end of an export is queued for
   * webhooks; 0 by default.
   */
  readonly waitReplicas?: number | undefined;
  readonly streamTimes?: Partial<StreamTimes> | undefined;
  readonly now: () => number;
  /** Whether events expire (`EVENT_RETENTION_DAYS`). The totals of links do not expire with them. */
  readonly eventsExpire?: boolean | undefined;
  /** Called after each query that was not cancelled. */
  readonly onQuery?: ((caller: QueryCaller, report: QueryReport) => void) | undefined;
}

/** The tails on a queue shard, read through a connection of their own that opens with the first stream. */
function openTails(app: App, redis: Redis, waitReplicas = 0): Tails {
  const connection = redis.duplicate({ lazyConnect: true, enableOfflineQueue: true });
  connection.on('error', (err) => app.log.warn({ err }, 'redis connection of streams'));
  app.addHook('onClose', async () => connection.disconnect());
  return createTails(connection, createReplication(connection, waitReplicas));
}

/** Registers all routes of this service. The app must have `authPlugin`. */
export async function queryRoutes(app: App, deps: QueryDeps): Promise<void> {
  app.addHook('preClose', async () => deps.exportSlots.close());
  const planCache = createPlannerCache(deps.now, deps.catalog.isSubscribed);
  deps.catalog.subscribe(planCache);
  const withReads = { ...deps, ...createReadRunners({ ...deps, planCache }), unsentAnswers: app.unsentAnswers };
  await eventRoutes(app, withReads);
  await eventsExportRoutes(app, withReads);
  await analyticsRoutes(app, withReads);
  await analyticsExportRoutes(app, withReads);
  await streamRoutes(app, {
    ...withReads,
    planCache,
    tails: deps.queueShards.map((redis) => openTails(app, redis, deps.waitReplicas)),
  });
  await partnerAnalyticsRoutes(app, withReads);
  const notifier = createJobEndNotifier({ ...deps, logger: app.log });
  app.addHook('onClose', async () => notifier.close());
  await exportJobs(app, { ...withReads, notifier });
  await exportSchedules(app, { ...withReads, notifier });
}

/** Builds the app of the service when it runs as a process of its own. */
export function buildApp(
  options: CreateAppOptions,
  deps: QueryDeps & { readonly rateLimiter: RateLimiter },
  operations?: Pick<Operations, 'requests' | 'tracing'>,
): App {
  const app = createApp({ title: 'Waymark query', ...options });
  if (operations !== undefined) app.register(requestCountPlugin, { operations });
  app.register(authPlugin, deps);
  app.register(async (routes) => queryRoutes(routes as App, deps));
  return app;
}
