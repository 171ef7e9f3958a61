import {
  banPartnerBodySchema,
  createPartnerBodySchema,
  type ListPartnersQuery,
  listPartnersQuerySchema,
  ownIdParamsSchema,
  partnerIdAnswerSchema,
  partnerSchema,
  partnerSelectorBodySchema,
} from '@waymark/contract';
import { parseMultiValue, type ValueLists } from '@waymark/event-query';
import type { App } from '@waymark/http-kit';
import { z } from 'zod';
import type { LinkDeps } from '../links/link-deps.js';
import { enrolPartner, visiblePartner } from './enrol.js';
import { findPartnerAt } from './find-partner.js';
import { partnerCaller, partnersScope } from './partner-caller.js';
import { partnerObjects } from './partner-object.js';
import { banPartner, deactivatePartner, reactivatePartner, unbanPartner } from './partner-status.js';

const tags = ['Partners'];

/** Requirements of all partner routes. */
export const PARTNER_ACCESS = { roles: ['owner', 'member'], minimumPlan: 'business' } as const;

/** Parses the filter `country`: countries to include or exclude, in upper case. */
export function countriesOf(text: string | undefined): ValueLists | undefined {
  return parseMultiValue('country', text?.toUpperCase());
}

/** The list request of a query. */
function pageOf(query: ListPartnersQuery) {
  const { sortBy = 'totalSaleAmount', sortOrder = 'desc', page, pageSize, country, ...filters } = query;
  const { groupId, status, email, tenantId, search } = filters;
  return {
    filters: { groupId, status, email, tenantId, search, countries: countriesOf(country) },
    sortBy,
    sortOrder,
    page,
    pageSize,
  };
}

/** Routes whose body only selects a partner. */
const STATUS_CHANGES = [
  { path: '/partners/unban', summary: 'Lift a ban: the links work again', change: unbanPartner },
  { path: '/partners/deactivate', summary: 'Deactivate a partner: its links expire', change: deactivatePartner },
  { path: '/partners/reactivate', summary: 'Reactivate a partner: its links work again', change: reactivatePartner },
] as const;

/** `GET|POST /partners`, `GET /partners/{id}`, `POST /partners/ban|unban|deactivate|reactivate`. */
export async function partnerRoutes(app: App, deps: LinkDeps): Promise<void> {
  const { catalog } = deps;
  const authenticateWriter = app.authenticate({ ...PARTNER_ACCESS, permission: 'conversions.write' });

  app.get(
    '/partners',
    {
      onRequest: app.authenticate(PARTNER_ACCESS),
      schema: {
        summary: 'List partners',
        tags,
        querystring: listPartnersQuerySchema,
        response: { 200: z.array(partnerSchema) },
      },
    },
    async (request) => {
      const scope = await partnersScope(deps, await partnerCaller(deps, request));
      const found = await catalog.partners.list(scope.workspaceId, pageOf(request.query), scope.hidesFolders);
      return partnerObjects(catalog, scope, found);
    },
  );

  app.get(
    '/partners/:id',
    {
      onRequest: app.authenticate(PARTNER_ACCESS),
      schema: {
        summary: 'Retrieve a partner by its id or, with `ext_`, its tenantId',
        tags,
        params: ownIdParamsSchema,
        response: { 200: partnerSchema },
      },
    },
    async (request) => {
      const caller = await partnerCaller(deps, request);
      return visiblePartner(deps, caller, await findPartnerAt(catalog, caller.workspace.id, request.params.id));
    },
  );

  app.post(
    '/partners',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Enrol a partner, or retrieve one that is enrolled',
        tags,
        body: createPartnerBodySchema,
        response: { 201: partnerSchema },
      },
    },
    async (request, reply) =>
      reply.code(201).send(await enrolPartner(deps, await partnerCaller(deps, request), request.body)),
  );

  app.post(
    '/partners/ban',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Ban a partner and disable its links',
        tags,
        body: banPartnerBodySchema,
        response: { 200: partnerIdAnswerSchema },
      },
    },
    async (request) => ({ partnerId: await banPartner(deps, await partnerCaller(deps, request), request.body) }),
  );

  for (const { path, summary, change } of STATUS_CHANGES) {
    app.post(
      path,
      {
        onRequest: authenticateWriter,
        schema: { summary, tags, body: partnerSelectorBodySchema, response: { 200: partnerIdAnswerSchema } },
      },
      async (request) => ({ partnerId: await change(deps, await partnerCaller(deps, request), request.body) }),
    );
  }
}
