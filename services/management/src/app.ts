import type { Catalog } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import type { ClaimAdmin } from '@waymark/event-queue';
import type { ExportDeps } from '@waymark/export';
import { type App, authPlugin, type CreateAppOptions, createApp, domainCheckRoutes } from '@waymark/http-kit';
import { type Operations, requestCountPlugin } from '@waymark/observability';
import type { Outbound } from '@waymark/outbound';
import type { RateLimiter } from '@waymark/rate-limit';
import type { WebhookNotifier } from '@waymark/webhooks';
import type { Redis } from 'ioredis';
import { customerRoutes } from './customers/customer-routes.js';
import { customerDataRoutes } from './customers/data/data-routes.js';
import { domainRoutes } from './domains/domain-routes.js';
import { registrarRoutes } from './domains/registrar-route.js';
import { erasureRoutes } from './erasures/erasure-routes.js';
import { folderRoutes } from './folders/folder-routes.js';
import { type ImportSettings, importJobs } from './imports/import-jobs.js';
import { linkRoutes } from './links/routes/link-routes.js';
import { metatagsRoutes } from './metatags/metatag-routes.js';
import { applicationRoutes } from './partners/application-routes.js';
import { partnerLinkRoutes } from './partners/partner-link-routes.js';
import { partnerRoutes } from './partners/partner-routes.js';
import { qrRoutes } from './qr/qr-routes.js';
import { tagRoutes } from './tags/tag-routes.js';
import { unsupportedRoutes } from './unsupported/unsupported-routes.js';
import { utmRoutes } from './utm/utm-routes.js';
import { webhookRoutes } from './webhooks/webhook-routes.js';
import { workspaceRoutes } from './workspaces/workspace-routes.js';

/** Dependencies of the routes of this service. */
export interface ManagementDeps extends ExportDeps, ImportSettings {
  readonly catalog: Catalog;
  readonly clickhouse: ClickHouseClient;
  /** The claims of a workspace, which `/track` takes in Redis. */
  readonly claimsOf: (workspaceId: string) => Promise<ClaimAdmin>;
  /** The Redis of each queue shard, by number. */
  readonly queueShards: readonly Redis[];
  /** How many replicas of Redis must confirm the webhook jobs of an ended import, and the removals of an erasure; 0 by default. */
  readonly waitReplicas?: number | undefined;
  /** HTTP client for URLs that callers supply. */
  readonly outbound: Outbound;
  readonly rateLimiter: RateLimiter;
  /** Queues webhook events for changes. */
  readonly notifier: WebhookNotifier;
  /** The domain that every workspace may create links on. */
  readonly defaultDomain: string | undefined;
  readonly now: () => number;
}

/** Registers all routes of this service; the app must have `authPlugin`. */
export async function managementRoutes(app: App, deps: ManagementDeps): Promise<void> {
  app.addHook('preClose', async () => deps.exportSlots.close());
  await linkRoutes(app, deps);
  await importJobs(app, deps);
  await domainRoutes(app, deps);
  await registrarRoutes(app);
  await tagRoutes(app, deps);
  await folderRoutes(app, deps);
  await customerRoutes(app, deps);
  await customerDataRoutes(app, deps);
  await erasureRoutes(app, deps);
  await webhookRoutes(app, deps);
  await partnerRoutes(app, deps);
  await partnerLinkRoutes(app, deps);
  await applicationRoutes(app, deps);
  await unsupportedRoutes(app);
  await metatagsRoutes(app, deps);
  await utmRoutes(app, deps);
  await workspaceRoutes(app, deps);
  await qrRoutes(app, deps);
  await domainCheckRoutes(app, deps);
}

/** Builds the HTTP app of the service; it does not listen yet. */
export function buildApp(
  options: CreateAppOptions,
  deps: ManagementDeps,
  operations?: Pick<Operations, 'requests' | 'tracing'>,
): App {
  const app = createApp({ title: 'Waymark management', ...options });
  if (operations !== undefined) app.register(requestCountPlugin, { operations });
  app.register(authPlugin, deps);
  app.register(async (routes) => managementRoutes(routes as App, deps));
  return app;
}
