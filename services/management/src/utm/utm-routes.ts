import type { Catalog } from '@waymark/catalog';
import {
  createUtmTemplateBodySchema,
  idAnswerSchema,
  idParamsSchema,
  listUtmTemplatesQuerySchema,
  UTM_TEMPLATES_MAX,
  updateUtmTemplateBodySchema,
  utmTemplateSchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { z } from 'zod';
import { utmFields, utmTemplateObject } from './utm.js';

const tags = ['UTM templates'];

/** `GET|POST /utm`, `GET|PATCH|DELETE /utm/{id}`; they need the permissions `links.read` and `links.write`. */
export async function utmRoutes(app: App, { catalog }: { readonly catalog: Catalog }): Promise<void> {
  const { utmTemplates } = catalog;
  const authenticateReader = app.authenticate({ permission: 'links.read' });
  const authenticateWriter = app.authenticate({ permission: 'links.write' });
  const params = idParamsSchema;

  app.get(
    '/utm',
    {
      onRequest: authenticateReader,
      schema: {
        summary: 'List UTM templates',
        tags,
        querystring: listUtmTemplatesQuerySchema,
        response: { 200: z.array(utmTemplateSchema) },
      },
    },
    async ({ query, workspace }) => {
      const { search, sortBy = 'name', sortOrder = 'asc', page, pageSize } = query;
      const request = { filters: { search }, sortBy, sortOrder, page, pageSize };
      return (await utmTemplates.list(workspace.id, request)).map(utmTemplateObject);
    },
  );

  app.post(
    '/utm',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Create a UTM template',
        tags,
        body: createUtmTemplateBodySchema,
        response: { 201: utmTemplateSchema },
      },
    },
    async ({ body, workspace }, reply) => {
      const template = { name: body.name, ...utmFields(body) };
      const created = await utmTemplates.create(workspace.id, template, UTM_TEMPLATES_MAX);
      return reply.code(201).send(utmTemplateObject(created));
    },
  );

  app.get(
    '/utm/:id',
    {
      onRequest: authenticateReader,
      schema: { summary: 'Retrieve a UTM template', tags, params, response: { 200: utmTemplateSchema } },
    },
    async ({ params: { id }, workspace }) => utmTemplateObject(await utmTemplates.require(workspace.id, id)),
  );

  app.patch(
    '/utm/:id',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Update a UTM template',
        tags,
        params,
        body: updateUtmTemplateBodySchema,
        response: { 200: utmTemplateSchema },
      },
    },
    async ({ body, params: { id }, workspace }) =>
      utmTemplateObject(
        await utmTemplates.update(workspace.id, id, ({ name }) => ({ name: body.name ?? name, ...utmFields(body) })),
      ),
  );

  app.delete(
    '/utm/:id',
    {
      onRequest: authenticateWriter,
      schema: { summary: 'Delete a UTM template', tags, params, response: { 200: idAnswerSchema } },
    },
    async ({ params: { id }, workspace }) => {
      await utmTemplates.remove(workspace.id, id);
      return { id };
    },
  );
}
