import type { Catalog } from '@waymark/catalog';
import { eventSchema, eventsQuerySchema } from '@waymark/contract';
import { formatCursor, parse, parseCursor } from '@waymark/event-query';
import { type App, jsonItems, sendJsonText, type UnsentAnswers } from '@waymark/http-kit';
import { z } from 'zod';
import { whileUsageChecked } from '../usage-check.js';
import type { RunReads } from '../workspace-concurrency.js';
import { bindEvents } from './bind-events.js';
import { nextLink, positionOf } from './next-link.js';
import { memoryOfRows, pageItems } from './page-items.js';
import { createPageTexts } from './page-text.js';
import { createPrefetcher, createValuesReader } from './prefetch.js';
import { readPage } from './read-page.js';

export interface EventRouteDeps {
  readonly catalog: Catalog;
  readonly runReads: RunReads;
  readonly now: () => number;
  readonly unsentAnswers: UnsentAnswers;
}

/** `GET /events` (docs/reference/events.md). */
export async function eventRoutes(app: App, deps: EventRouteDeps): Promise<void> {
  const { catalog, runReads, now, unsentAnswers } = deps;
  const { links, customers } = catalog;
  const texts = createPageTexts(catalog);
  const linkPrefetcher = createPrefetcher(links.cachedCounters, links.counters);
  const customerPrefetcher = createPrefetcher(customers.cachedCounters, customers.counters);
  const linkCounters = createValuesReader(links.cachedCounters, links.counters);
  const customerTotals = createValuesReader(customers.cachedCounters, customers.counters);
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
      const { body, next } = await whileUsageChecked(catalog, request, async () => {
        const list = { query, workspaceId: workspace.id };
        const cursor = parseCursor(list);
        const nowMs = cursor?.nowMs ?? now();
        const parsed = parse(query, nowMs, cursor);
        const { caller, bound } = await bindEvents(catalog, request, parsed);
        const { rows, prefetched, unsent, rowBytes } = await runReads(request, reply, async (reads) => {
          unsentAnswers.check(workspace.id);
          const prefetched = {
            linkCounters: linkPrefetcher.start(workspace.id, parsed.kind),
            customerTotals: customerPrefetcher.start(workspace.id, parsed.kind),
          };
          const rows = await readPage(reads, bound);
          const rowBytes = memoryOfRows(rows);
          return { rows, prefetched, unsent: unsentAnswers.reserve(workspace.id, reply, rowBytes), rowBytes };
        });
        const last = rows.length === query.limit ? rows.at(-1) : undefined;
        const first = { ...deps, ...texts, ...prefetched };
        const later = {
          ...first,
          linkCounters: linkCounters(workspace.id),
          customerTotals: customerTotals(workspace.id),
        };
        async function* items() {
          for await (const group of pageItems({ first, later }, caller, parsed.kind, rows)) {
            unsent.resize(rowBytes + group.textBytes);
            yield group.items;
          }
        }
        const body = await jsonItems(items());
        // Then the rows are not needed any more.
        if (Buffer.isBuffer(body)) unsent.resize(body.length);
        return { body, next: last && nextLink(query, formatCursor({ nowMs, after: positionOf(last) }, list)) };
      });
      if (next !== undefined) reply.header('link', next);
      return sendJsonText(reply, body);
    },
  );
}
