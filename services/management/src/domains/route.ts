import type { Catalog } from '@waymark/catalog';
import { domainSchema, listDomainsQuerySchema } from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { z } from 'zod';

/** `GET /domains`. */
export async function domainRoutes(app: App, { catalog }: { readonly catalog: Catalog }): Promise<void> {
  app.get(
    '/domains',
    {
      onRequest: app.authenticate({ permission: 'domains.read' }),
      schema: {
        summary: 'List domains',
        tags: ['Domains'],
        querystring: listDomainsQuerySchema,
        response: { 200: z.array(domainSchema) },
      },
    },
    async ({ query, workspace }) => {
      const domains = await catalog.domains.list(workspace.id, { ...query, archived: query.archived ?? false });
      return domains.map(catalog.domains.toDomain);
    },
  );
}
