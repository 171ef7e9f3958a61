import type { Catalog } from '@waymark/catalog';
import {
  csvItems,
  idAnswerSchema,
  idParamsSchema,
  listTagsQuerySchema,
  noQuerySchema,
  tagBodySchema,
  tagSchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { z } from 'zod';
import { createTag, tagObject, updateTag } from './tags.js';

const tags = ['Tags'];

/** `GET|POST /tags`, `GET|PATCH|PUT|DELETE /tags/{id}`. */
export async function tagRoutes(app: App, { catalog }: { readonly catalog: Catalog }): Promise<void> {
  const authenticateReader = app.authenticate({ permission: 'tags.read' });
  const authenticateWriter = app.authenticate({ permission: 'tags.write' });

  app.get(
    '/tags',
    {
      onRequest: authenticateReader,
      schema: {
        summary: 'List tags',
        tags,
        querystring: listTagsQuerySchema,
        response: { 200: z.array(tagSchema) },
      },
    },
    async ({ query, workspace }) => {
      const { search, ids, sortBy = 'name', sortOrder = 'asc', page, pageSize } = query;
      const filters = { search, ids: ids === undefined ? undefined : csvItems(ids) };
      return (await catalog.tags.list(workspace.id, { filters, sortBy, sortOrder, page, pageSize })).map(tagObject);
    },
  );

  app.post(
    '/tags',
    {
      onRequest: authenticateWriter,
      schema: { summary: 'Create a tag', tags, body: tagBodySchema, response: { 201: tagSchema } },
    },
    async ({ body, workspace }, reply) => reply.code(201).send(tagObject(await createTag(catalog, workspace, body))),
  );

  app.get(
    '/tags/:id',
    {
      onRequest: authenticateReader,
      schema: { summary: 'Retrieve a tag', tags, params: idParamsSchema, response: { 200: tagSchema } },
    },
    async ({ params, workspace }) => tagObject(await catalog.tags.require(workspace.id, params.id)),
  );

  for (const method of ['PATCH', 'PUT'] as const) {
    app.route({
      method,
      url: '/tags/:id',
      onRequest: authenticateWriter,
      schema: {
        summary: 'Update a tag',
        tags,
        params: idParamsSchema,
        querystring: noQuerySchema,
        body: tagBodySchema,
        response: { 200: tagSchema },
        hide: method === 'PUT',
      },
      handler: async ({ body, params, workspace }) =>
        tagObject(await updateTag(catalog, workspace.id, params.id, body)),
    });
  }

  app.delete(
    '/tags/:id',
    {
      onRequest: authenticateWriter,
      schema: { summary: 'Delete a tag', tags, params: idParamsSchema, response: { 200: idAnswerSchema } },
    },
    async ({ params, workspace }) => {
      await catalog.tags.remove(workspace.id, params.id);
      return { id: params.id };
    },
  );
}
