import {
  ApiError,
  createDomainBodySchema,
  domainSchema,
  listDomainsQuerySchema,
  PARAM_CHARS_MAX,
  updateDomainBodySchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { z } from 'zod';
import { createDomain, type DomainDeps, deleteDomain, ownDomain, updateDomain, visibleDomain } from './domains.js';

const tags = ['Domains'];
const slugParamsSchema = z.object({ slug: z.string().max(PARAM_CHARS_MAX).describe('The domain, in any case.') });

/** `GET|POST /domains`, `GET|PATCH|DELETE /domains/{slug}`, `POST /domains/{slug}/primary`. */
export async function domainRoutes(app: App, deps: DomainDeps): Promise<void> {
  const { domains } = deps.catalog;
  const authenticateReader = app.authenticate({ permission: 'domains.read' });
  const authenticateWriter = app.authenticate({ permission: 'domains.write' });

  app.get(
    '/domains',
    {
      onRequest: authenticateReader,
      schema: {
        summary: 'List domains',
        tags,
        querystring: listDomainsQuerySchema,
        response: { 200: z.array(domainSchema) },
      },
    },
    async ({ query, workspace }) => {
      const {
        archived: isArchivedShown = false,
        search,
        sortBy = 'createdAt',
        sortOrder = 'asc',
        page,
        pageSize,
      } = query;
      const filters = { isArchivedShown, search };
      const found = await domains.list(workspace.id, { filters, sortBy, sortOrder, page, pageSize });
      return found.map(domains.toDomain);
    },
  );

  app.post(
    '/domains',
    {
      onRequest: authenticateWriter,
      schema: { summary: 'Create a domain', tags, body: createDomainBodySchema, response: { 201: domainSchema } },
    },
    async ({ body, workspace }, reply) =>
      reply.code(201).send(domains.toDomain(await createDomain(deps, workspace, body))),
  );

  app.get(
    '/domains/:slug',
    {
      onRequest: authenticateReader,
      schema: { summary: 'Retrieve a domain', tags, params: slugParamsSchema, response: { 200: domainSchema } },
    },
    async ({ params, workspace }) => domains.toDomain(await visibleDomain(deps.catalog, workspace.id, params.slug)),
  );

  app.patch(
    '/domains/:slug',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Update a domain',
        tags,
        params: slugParamsSchema,
        body: updateDomainBodySchema,
        response: { 200: domainSchema },
      },
    },
    async ({ body, params, workspace }) => domains.toDomain(await updateDomain(deps, workspace, params.slug, body)),
  );

  app.delete(
    '/domains/:slug',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Delete a domain with its links',
        tags,
        params: slugParamsSchema,
        response: { 200: z.strictObject({ slug: z.string().describe('Name of the removed domain.') }) },
      },
    },
    async ({ params, workspace }) => ({ slug: (await deleteDomain(deps, workspace, params.slug)).slug }),
  );

  app.post(
    '/domains/:slug/primary',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Make a domain the primary one',
        tags,
        params: slugParamsSchema,
        response: { 200: domainSchema },
      },
    },
    async ({ params, workspace }) => {
      const { id, archived } = await ownDomain(deps.catalog, workspace.id, params.slug);
      if (archived) throw new ApiError('unprocessable_entity', 'An archived domain cannot be the primary one.');
      return domains.toDomain(await domains.makePrimary(workspace.id, id));
    },
  );
}
