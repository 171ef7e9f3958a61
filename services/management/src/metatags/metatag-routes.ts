import { normaliseUrl } from '@waymark/catalog';
import { fieldError, type Metatags, metatagsQuerySchema, metatagsSchema, WEB_ADDRESS_RULE } from '@waymark/contract';
import { type App, applyRateLimit } from '@waymark/http-kit';
import type { Outbound } from '@waymark/outbound';
import type { RateLimiter } from '@waymark/rate-limit';
import { pageTags } from './page-tags.js';
import { readPage } from './read-web-page.js';

/** Rate limit of a workspace. Each request causes a request to a server of somebody else. */
const LIMIT = { bucket: 'metatags', limit: 60, windowSeconds: 60 };
const NOTHING: Metatags = { title: null, description: null, image: null };

export interface MetatagsDeps {
  readonly outbound: Outbound;
  readonly rateLimiter: RateLimiter;
  readonly now: () => number;
}

/** @throws ApiError unprocessable_entity */
function webUrl(text: string): string {
  const url = normaliseUrl(text);
  if (url !== undefined && /^https?:/i.test(url)) return url;
  throw fieldError('invalid_format', 'url', WEB_ADDRESS_RULE);
}

/** `GET /links/metatags`: title, description and image of a page, for previews. */
export async function metatagsRoutes(app: App, { outbound, rateLimiter, now }: MetatagsDeps): Promise<void> {
  app.get(
    '/links/metatags',
    {
      onRequest: app.authenticate({ permission: 'links.read' }),
      preHandler: (request, reply) => applyRateLimit(rateLimiter, request.workspace.id, LIMIT, reply, now),
      schema: {
        summary: 'Read title, description and image of a web page',
        tags: ['Links'],
        querystring: metatagsQuerySchema,
        response: { 200: metatagsSchema },
      },
    },
    async ({ query }) => {
      const page = await readPage(outbound, webUrl(query.url));
      return page === undefined ? NOTHING : pageTags(page.html, page.url);
    },
  );
}
