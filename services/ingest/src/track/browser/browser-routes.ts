import {
  trackClickBodySchema,
  trackClickResponseSchema,
  trackOpenBodySchema,
  trackOpenResponseSchema,
  trackVisitBodySchema,
  trackVisitResponseSchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import type { FastifyRequest } from 'fastify';
import { storableBody } from '../storable-body.js';
import type { TrackDeps } from '../track-deps.js';
import { createBrowserReports, type ReportRequest } from './browser-reports.js';
import { createNetworkLimits } from './network-limits.js';
import { answerPreflights, BROWSER_ROUTE } from './preflights.js';

/** Browser reports are small; their longest field is a URL. */
const BODY_BYTES_MAX = 128 * 1024;

function lastText(value: unknown): string | undefined {
  const last: unknown = Array.isArray(value) ? value.at(-1) : value;
  return typeof last === 'string' ? last : undefined;
}

function reportRequest(request: Pick<FastifyRequest, 'raw' | 'headers' | 'query'>): ReportRequest {
  const query = request.query as Readonly<Record<string, unknown>>;
  return {
    remoteAddress: request.raw.socket.remoteAddress,
    headers: request.headers,
    isTracked: request.headers['dub-no-track'] === undefined && query['dub-no-track'] === undefined,
    botParameter: lastText(query.bot),
  };
}

/** `POST /track/click`, `/track/open` and `/track/visit` with their preflights. */
export async function browserRoutes(app: App, deps: TrackDeps): Promise<void> {
  const limits = createNetworkLimits(deps);
  const reports = createBrowserReports(deps, limits);
  const shared = { ...BROWSER_ROUTE, bodyLimit: BODY_BYTES_MAX, onRequest: limits.countBrowserReport };
  answerPreflights(app, ['/track/click', '/track/open', '/track/visit']);
  app.post(
    '/track/click',
    {
      ...shared,
      schema: {
        summary: 'Record a click from a browser',
        tags: ['Track'],
        body: trackClickBodySchema,
        response: { 200: trackClickResponseSchema },
      },
    },
    (request) => reports.click(storableBody(request.body), reportRequest(request)),
  );
  app.post(
    '/track/open',
    {
      ...shared,
      schema: {
        summary: 'Record that an app was opened by a link, or find the click that led to its installation',
        tags: ['Track'],
        body: trackOpenBodySchema,
        response: { 200: trackOpenResponseSchema },
      },
    },
    (request) => reports.open(storableBody(request.body), reportRequest(request)),
  );
  app.post(
    '/track/visit',
    {
      ...shared,
      schema: {
        summary: 'Record a page view',
        tags: ['Track'],
        body: trackVisitBodySchema,
        response: { 200: trackVisitResponseSchema },
      },
    },
    (request) => reports.visit(storableBody(request.body), reportRequest(request)),
  );
}
