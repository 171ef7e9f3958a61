import type { ClickHouseClient } from '@waymark/clickhouse';
import { ApiError, isNoneMatchHit } from '@waymark/contract';
import { type App, adminGuard } from '@waymark/http-kit';
import type { ComponentStatus } from '@waymark/observability';
import type { OpsAnswer } from '@waymark/ops-page';
import type { RateLimiter } from '@waymark/rate-limit';
import type { FastifySchema } from 'fastify';
import type { Redis } from 'ioredis';
import { componentsHtml, componentsSummary } from './components-html.js';
import { createPageAssets } from './page-assets.js';
import { pageHtml } from './page-html.js';
import { createPanelReader } from './panel-reader.js';
import { queueBoard } from './queues/queue-board.js';
import { OPS_RANGES, type OpsRange } from './range.js';

/** Dependencies of the operations page. */
export interface OpsDeps {
  /** Keys that open the page; without any, it is closed to all. */
  readonly adminKeys: readonly string[];
  readonly rateLimiter: Pick<RateLimiter, 'take'>;
  readonly clickhouse: Pick<ClickHouseClient, 'rows'>;
  /** Connections for the queues, by number of the queue shard. */
  readonly queueShards: readonly Redis[];
  /** State of the components, available even when stores are down. */
  readonly componentStatus: () => readonly ComponentStatus[];
  readonly now: () => number;
}

/** Forbids external and inline resources; uPlot sets styles through the DOM, which the policy allows. */
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
} as const;

const hidden = { schema: { hide: true } as FastifySchema };

function rangeOf(query: unknown): OpsRange {
  const { range } = query as { readonly range?: unknown };
  return OPS_RANGES.find(({ id }) => id === range) ?? OPS_RANGES[0];
}

/** `GET /ops`, the operations page, with its data, its assets and the queue pages, behind the admin key. */
export async function opsRoutes(app: App, deps: OpsDeps): Promise<void> {
  const { componentStatus, now } = deps;
  const panels = createPanelReader({ clickhouse: deps.clickhouse, logger: app.log, now });
  const assetOf = createPageAssets();

  await app.register(async (scope) => {
    await scope.register(adminGuard, deps);
    await scope.register((board) => queueBoard(board, deps));

    scope.get('/ops', { ...hidden, config: { isPage: true } }, async (request, reply) =>
      reply.headers(PAGE_HEADERS).send(pageHtml(rangeOf(request.query), componentStatus())),
    );

    scope.get('/ops/data', hidden, async (request, reply): Promise<OpsAnswer> => {
      reply.header('cache-control', 'no-store');
      const isAway = componentStatus().some(({ component, state }) => component === 'clickhouse' && state === 'down');
      const answers = await panels.read(rangeOf(request.query), isAway);
      const statuses = componentStatus();
      return { nowMs: now(), components: componentsHtml(statuses), summary: componentsSummary(statuses), ...answers };
    });

    scope.get('/ops/assets/:name', hidden, async (request, reply) => {
      const asset = assetOf((request.params as { readonly name: string }).name);
      if (asset === undefined) throw new ApiError('not_found', 'There is no such file.');
      reply.headers({
        'content-type': asset.type,
        'x-content-type-options': 'nosniff',
        'cache-control': 'private, no-cache',
        etag: asset.etag,
      });
      if (isNoneMatchHit(request.headers['if-none-match'], [asset.etag])) return reply.code(304).send();
      return reply.send(asset.body);
    });
  });
}
