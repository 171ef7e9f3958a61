import { createLinkBodySchema, linkInfoQuerySchema, linkSchema } from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { z } from 'zod';
import { type CreateLinkParts, checkUsage, createLink } from './create-link.js';
import { linkInfo } from './find-link.js';

const linkParamsSchema = z.object({ linkId: z.string() });

/** `POST /links`, `GET /links/info`, `GET /links/{linkId}`. */
export async function linkRoutes(app: App, parts: CreateLinkParts): Promise<void> {
  const { catalog } = parts;

  app.post(
    '/links',
    {
      onRequest: app.authenticate({ permission: 'links.write' }),
      preValidation: (request) => checkUsage(parts, request.workspace),
      schema: { summary: 'Create a link', tags: ['Links'], body: createLinkBodySchema, response: { 200: linkSchema } },
    },
    (request) => createLink(parts, request),
  );

  app.get(
    '/links/info',
    {
      onRequest: app.authenticate({ permission: 'links.read' }),
      schema: {
        summary: 'Retrieve a link',
        tags: ['Links'],
        querystring: linkInfoQuerySchema,
        response: { 200: linkSchema },
      },
    },
    (request) => linkInfo(catalog, request.workspace.id, request.query),
  );

  app.get(
    '/links/:linkId',
    {
      onRequest: app.authenticate({ permission: 'links.read' }),
      schema: {
        summary: 'Retrieve a link by its id or, with `ext_`, its external id',
        tags: ['Links'],
        params: linkParamsSchema,
        response: { 200: linkSchema },
      },
    },
    (request) => linkInfo(catalog, request.workspace.id, request.params),
  );
}
