import type { Catalog } from '@waymark/catalog';
import { eventSchema, eventsQuerySchema } from '@waymark/contract';
import { formatCursor, parse, parseCursor } from '@waymark/event-query';
import { type App, jsonArray, sendJsonText } from '@waymark/http-kit';
import { z } from 'zod';
import { whileUsageChecked } from '../usage-check.js';
import type { RunReads } from '../workspace-concurrency.js';
import { bindEvents } from './bind-events.js';
import { nextLink, positionOf } from './next-link.js';
import { createPageTexts, pageItems } from './page-text.js';
import { createPrefetcher } from './prefetch.js';
import { readPage } from './read-page.js';
import { createUnsentAnswers, type UnsentAnswers } from './unsent-answers.js';

export interface EventRouteDeps {
  readonly catalog: Catalog;
  readonly runReads: RunReads;
  readonly now: () => number;
  /** Only tests set it. */
  readonly unsentAnswers?: UnsentAnswers | undefined;
}

/** `GET /events` (docs/reference/events.md). */
export async function eventRoutes(app: App, deps: EventRouteDeps): Promise<void> {
  const { catalog, runReads, now, unsentAnswers = createUnsentAnswers() } = deps;
  const linkPrefetcher = createPrefetcher(catalog.links.cachedCounters, catalog.links.counters);
  const texts = createPageTexts(catalog);
  const customerPrefetcher = createPrefetcher(catalog.customers.cachedCounters, catalog.customers.counters);
  app.get(
    '/events',
    {
      onRequest: app.authenticate({ permission: 'analytics.read', minimumPlan: 'business', bucket: 'analytics' }),
      attachValidation: true,
      schema: {
        operationId: 'listEvents',
        summary: 'List events',
        tags: ['Events'],
        querystring: eventsQuerySchema,
        response: { 200: z.array(eventSchema) },
      },
    },
    async (request, reply) => {
      const { workspace, query } = request;
      const { items, next } = await whileUsageChecked(catalog, request, async () => {
        const list = { query, workspaceId: workspace.id };
        const cursor = parseCursor(list);
        const nowMs = cursor?.nowMs ?? now();
        const parsed = parse(query, nowMs, cursor);
        const { caller, bound } = await bindEvents(catalog, request, parsed);
        const { rows, prefetched } = await runReads(request, reply, async (reads) => {
          unsentAnswers.check(workspace.id);
          const prefetched = {
            linkCounters: linkPrefetcher.start(workspace.id, parsed.kind),
            customerTotals: customerPrefetcher.start(workspace.id, parsed.kind),
          };
          return { rows: await readPage(reads, bound), prefetched };
        });
        const last = rows.length === query.limit ? rows.at(-1) : undefined;
        return {
          next: last && nextLink(query, formatCursor({ nowMs, after: positionOf(last) }, list)),
          items: await pageItems({ ...deps, ...texts, ...prefetched }, caller, parsed.kind, rows),
        };
      });
      if (next !== undefined) reply.header('link', next);
      const body = await jsonArray(items);
      unsentAnswers.add(workspace.id, reply, body.length);
      return sendJsonText(reply, body);
    },
  );
}
