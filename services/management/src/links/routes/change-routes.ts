import {
  createLinkBodySchema,
  idAnswerSchema,
  linkSchema,
  noQuerySchema,
  updateLinkBodySchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { checkLinkQuota } from '@waymark/link-rules';
import { removeFoundLink } from '../change/remove-links.js';
import { updateFoundLink } from '../change/update-link.js';
import { createLink } from '../create/create-link.js';
import { upsertLink } from '../create/upsert-link.js';
import type { LinkDeps } from '../link-deps.js';
import { requireLink } from '../read/find-link.js';
import { linkParamsSchema } from './read-routes.js';

/** `POST /links`, `PUT /links/upsert`, `PATCH|PUT|DELETE /links/{linkId}`. */
export async function changeRoutes(app: App, deps: LinkDeps): Promise<void> {
  const { catalog } = deps;
  const onRequest = app.authenticate({ permission: 'links.write' });
  const tags = ['Links'];

  app.post(
    '/links',
    {
      onRequest,
      preValidation: (request) => checkLinkQuota(deps, request.workspace),
      schema: { summary: 'Create a link', tags, body: createLinkBodySchema, response: { 200: linkSchema } },
    },
    (request) => createLink(deps, request, request.body),
  );

  app.put(
    '/links/upsert',
    {
      onRequest,
      schema: {
        summary: 'Update the oldest link with that destination, or create one',
        tags,
        body: createLinkBodySchema,
        response: { 200: linkSchema },
      },
    },
    (request) => upsertLink(deps, request, request.body),
  );

  for (const method of ['PATCH', 'PUT'] as const) {
    app.route({
      method,
      url: '/links/:linkId',
      onRequest,
      schema: {
        summary: 'Update a link',
        tags,
        params: linkParamsSchema,
        querystring: noQuerySchema,
        body: updateLinkBodySchema,
        response: { 200: linkSchema },
        hide: method === 'PUT',
      },
      handler: async (request) =>
        updateFoundLink(deps, request, await requireLink(catalog, request, request.params), request.body),
    });
  }

  app.delete(
    '/links/:linkId',
    {
      onRequest,
      schema: { summary: 'Delete a link', tags, params: linkParamsSchema, response: { 200: idAnswerSchema } },
    },
    async (request) => removeFoundLink(deps, request, await requireLink(catalog, request, request.params)),
  );
}
