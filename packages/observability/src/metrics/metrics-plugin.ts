import { type AdminGuardOptions, adminGuard, afterAnswer, answeredStatus } from '@waymark/http-kit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Operations } from '../operations.js';
import { VISIT_ROUTE } from './request-counts.js';

export interface RequestCountOptions {
  readonly operations: Pick<Operations, 'requests' | 'tracing'>;
  /** Whether the app is that of the link port, where paths are short links. */
  readonly isLinkPort?: boolean;
}

/** The method and pattern of the route, never the path: paths are private, and there is no limit on their number. */
function routeOf(request: FastifyRequest, isLinkPort: boolean): string {
  const { url } = request.routeOptions;
  if (isLinkPort && (url === '/' || url === '/*'))
    return request.method === 'GET' || request.method === 'HEAD' ? VISIT_ROUTE : `${request.method} /:key`;
  return `${request.method} ${url ?? 'unknown'}`;
}

/** Counts every request of the app by route, plan and status, and traces it when tracing is on. Register it before the routes. */
export const requestCountPlugin = fp<RequestCountOptions>(
  async (app, { operations, isLinkPort = false }) => {
    const { requests, tracing } = operations;
    if (tracing !== undefined) {
      app.addHook('onRequest', (request, _reply, done) => {
        tracing.begin(request);
        done();
      });
    }
    afterAnswer(app, (request, reply) => {
      const { callerPlan: plan, isOverLimit, streamBeganMs } = request;
      const status = answeredStatus(reply);
      const route = routeOf(request, isLinkPort);
      // Without the time in which a client reads or sends a file.
      const durationMs = (streamBeganMs ?? reply.elapsedTime) - request.uploadMs();
      requests.count({ route, plan, status }, durationMs, isOverLimit);
      tracing?.end(request, status, route);
    });
  },
  { name: 'request-count' },
);

export interface MetricsRouteOptions extends Pick<AdminGuardOptions, 'adminKeys' | 'rateLimiter'> {
  readonly operations: Pick<Operations, 'registry' | 'noteScrape'>;
}

/** `GET /metrics` for Prometheus. Local callers need the admin key as well: any user of the machine, or a proxy, may be one. */
export async function metricsRoute(app: FastifyInstance, options: MetricsRouteOptions): Promise<void> {
  const { adminKeys, rateLimiter, operations } = options;
  const { registry, noteScrape } = operations;
  await app.register(adminGuard, { adminKeys, rateLimiter });
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    noteScrape();
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}
