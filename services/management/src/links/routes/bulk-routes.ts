import {
  bulkCreateLinksBodySchema,
  bulkDeleteAnswerSchema,
  bulkUpdateLinksBodySchema,
  deleteLinksQuerySchema,
  type LinkError,
  linkErrorSchema,
  linkSchema,
  unchangedLinkSchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { checkLinkQuota } from '@waymark/link-rules';
import { z } from 'zod';
import { removeLinks } from '../change/remove-links.js';
import { updateLinks } from '../change/update-link.js';
import { createLinks } from '../create/create-links.js';
import type { LinkDeps } from '../link-deps.js';

/** Enough for a hundred links with the longest URLs, or with small data URL images. */
const BODY_BYTES_MAX = 12 * 1024 * 1024;

/** `POST|PATCH|DELETE /links/bulk`. */
export async function bulkRoutes(app: App, deps: LinkDeps): Promise<void> {
  const onRequest = app.authenticate({ permission: 'links.write' });
  const tags = ['Links'];
  /** The links of each request before validation. */
  const sentLinks = new WeakMap<object, readonly LinkError['link'][]>();

  app.post(
    '/links/bulk',
    {
      onRequest,
      bodyLimit: BODY_BYTES_MAX,
      async preValidation(request) {
        sentLinks.set(request, request.body as readonly LinkError['link'][]);
        await checkLinkQuota(deps, request.workspace);
      },
      schema: {
        summary: 'Create up to 100 links',
        tags,
        body: bulkCreateLinksBodySchema,
        response: { 200: z.array(z.union([linkSchema, linkErrorSchema])) },
      },
    },
    (request) => createLinks(deps, request, request.body, sentLinks.get(request) ?? []),
  );

  app.patch(
    '/links/bulk',
    {
      onRequest,
      schema: {
        summary: 'Update up to 100 links',
        tags,
        body: bulkUpdateLinksBodySchema,
        response: { 200: z.array(z.union([linkSchema, unchangedLinkSchema])) },
      },
    },
    (request) => updateLinks(deps, request, request.body),
  );

  app.delete(
    '/links/bulk',
    {
      onRequest,
      schema: {
        summary: 'Delete up to 100 links',
        tags,
        querystring: deleteLinksQuerySchema,
        response: { 200: bulkDeleteAnswerSchema },
      },
    },
    (request) => removeLinks(deps, request, request.query.linkIds),
  );
}
