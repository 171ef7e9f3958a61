import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import type { Document } from './document.js';
import { errorsPage } from './errors-page.js';
import { PAGE_HEADERS } from './page.js';
import { referencePage } from './reference-page.js';

export interface DocsOptions {
  /** Title of the OpenAPI document. */
  readonly title: string;
  readonly docBase: string;
}

/**
 * `/docs`, the OpenAPI document as a page, and `/docs/api-reference/errors`, where `doc_url` of every error leads unless
 * `DOC_BASE` names another place. Plain pages: no script, and nothing from elsewhere.
 */
export const docsPlugin = fp<DocsOptions>(
  async (app: FastifyInstance, { title, docBase }) => {
    let reference: string | undefined;
    app.get('/docs', { schema: { hide: true } }, async (_request, reply) => {
      reference ??= referencePage(app.swagger() as unknown as Document);
      return reply.headers(PAGE_HEADERS).send(reference);
    });
    const errors = errorsPage(title, docBase);
    app.get('/docs/api-reference/errors', { schema: { hide: true } }, async (_request, reply) =>
      reply.headers(PAGE_HEADERS).send(errors),
    );
  },
  { name: 'docs', dependencies: ['open-api'] },
);
