import { ApiError } from '@waymark/contract';
import type { FastifyInstance, FastifyReply } from 'fastify';
import fp from 'fastify-plugin';
import type { Document } from './document.js';
import { encodedOnce } from './encoded-once.js';
import { errorsPage } from './errors-page.js';
import { PAGE_HEADERS } from './page-frame.js';
import { referencePages } from './reference-pages.js';
import { routesPage } from './routes-page.js';
import { startPage } from './start-page.js';

export interface DocsOptions {
  /** Title of the OpenAPI document. */
  readonly title: string;
  /** Base URL of the documentation links (`doc_url`) in errors, without a trailing slash. */
  readonly docBase: string;
  /** Public address of the API. */
  readonly baseUrl: string | undefined;
}

const HIDDEN = { schema: { hide: true } } as const;

/**
 * Serves the documentation: `/docs`, the routes of the OpenAPI document; `/docs/reference`, the pages of `docs/reference` in the
 * repository; `/docs/api-reference/errors`, where the `doc_url` of errors leads unless `DOC_BASE` is set; and `/`, which links to all of
 * them, or for clients other than browsers names the documentation and the OpenAPI document in JSON. The pages have no scripts, and load
 * nothing from other hosts.
 */
export const docsPlugin = fp<DocsOptions>(
  async (app: FastifyInstance, { title, docBase, baseUrl = '' }) => {
    const subjects = referencePages(title);
    const sendPage = (reply: FastifyReply, page: Buffer) => reply.headers(PAGE_HEADERS).send(page);
    const reference = encodedOnce(() => routesPage(app.swagger() as unknown as Document, subjects));
    app.get('/docs', HIDDEN, async (_request, reply) => sendPage(reply, reference()));
    const errors = encodedOnce(() => errorsPage(title, docBase));
    app.get('/docs/api-reference/errors', HIDDEN, async (_request, reply) => sendPage(reply, errors()));

    app.get('/docs/reference', HIDDEN, async (_request, reply) => sendPage(reply, subjects.index()));
    app.get<{ Params: { name: string } }>('/docs/reference/:name', HIDDEN, async (request, reply) => {
      const page = subjects.page(request.params.name);
      if (page === undefined) throw new ApiError('not_found', 'There is no such page.');
      return sendPage(reply, page);
    });

    const hasRoute = (url: string): boolean => app.hasRoute({ method: 'GET', url });
    const start = encodedOnce(() => startPage(title, hasRoute));
    app.get('/', HIDDEN, async (request, reply) => {
      reply.header('vary', 'accept');
      const isForPeople = request.headers.accept?.includes('text/html') === true;
      if (isForPeople) return sendPage(reply, start());
      return { name: title, documentation: docBase, openapi: `${baseUrl}/openapi.json` };
    });
  },
  { name: 'docs', dependencies: ['open-api'] },
);
