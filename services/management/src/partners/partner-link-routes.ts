import { linkVisibility } from '@waymark/catalog';
import {
  ApiError,
  createPartnerLinkBodySchema,
  linkSchema,
  partnerLinkSchema,
  partnerSelectorQuerySchema,
  upsertPartnerLinkBodySchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { z } from 'zod';
import type { LinkDeps } from '../links/link-deps.js';
import { findPartner } from './find-partner.js';
import { partnerCaller } from './partner-caller.js';
import { createPartnerLink, upsertPartnerLink } from './partner-links.js';
import { partnerLinks } from './partner-object.js';
import { PARTNER_ACCESS } from './partner-routes.js';

const tags = ['Partners'];
/** Maximum number of links in the response of `GET /partners/links`. */
const LINKS_MAX = 1000;

/** `GET|POST /partners/links`, `PUT /partners/links/upsert`. */
export async function partnerLinkRoutes(app: App, deps: LinkDeps): Promise<void> {
  const { catalog } = deps;
  const authenticateWriter = app.authenticate({ ...PARTNER_ACCESS, permission: 'conversions.write' });

  app.get(
    '/partners/links',
    {
      onRequest: app.authenticate(PARTNER_ACCESS),
      schema: {
        summary: 'List the links of a partner',
        tags,
        querystring: partnerSelectorQuerySchema,
        response: { 200: z.array(partnerLinkSchema) },
      },
    },
    async (request) => {
      const { workspace, apiKey, program } = await partnerCaller(deps, request);
      const { programId = program.id } = request.query;
      if (programId !== program.id) throw new ApiError('not_found', 'Program not found.');
      const { id } = await findPartner(catalog, workspace.id, request.query);
      const { hidesFolders } = linkVisibility(apiKey);
      const links = await catalog.partners.links(workspace.id, id, LINKS_MAX, hidesFolders);
      return partnerLinks(catalog, workspace.id, links);
    },
  );

  app.post(
    '/partners/links',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Create a link for a partner',
        tags,
        body: createPartnerLinkBodySchema,
        response: { 201: linkSchema },
      },
    },
    async (request, reply) =>
      reply.code(201).send(await createPartnerLink(deps, await partnerCaller(deps, request), request.body)),
  );

  app.put(
    '/partners/links/upsert',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: "Update a partner's link with that destination, or create one",
        tags,
        body: upsertPartnerLinkBodySchema,
        response: { 200: linkSchema },
      },
    },
    async (request) => upsertPartnerLink(deps, await partnerCaller(deps, request), request.body),
  );
}
