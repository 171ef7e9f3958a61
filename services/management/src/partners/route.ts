import {
  banPartnerBodySchema,
  createPartnerBodySchema,
  deactivatePartnerBodySchema,
  type ListPartnersQuery,
  listPartnersQuerySchema,
  partnerIdAnswerSchema,
  partnerSchema,
} from '@waymark/contract';
import { parseMultiValue, type ValueLists } from '@waymark/event-query';
import type { App } from '@waymark/http-kit';
import { z } from 'zod';
import type { LinkParts } from '../links/link-parts.js';
import { enrolPartner } from './enrol.js';
import { partnerCaller } from './partner-caller.js';
import { partnerObjects } from './partner-object.js';
import { banPartner, deactivatePartner } from './partner-status.js';

const tags = ['Partners'];

/** What every route of partners asks of a key. */
export const PARTNER_ACCESS = { roles: ['owner', 'member'], minimumPlan: 'business' } as const;

/** Countries to keep and to leave out, in upper case. */
export function countriesOf(text: string | undefined): ValueLists | undefined {
  return parseMultiValue('country', text?.toUpperCase());
}

function pageOf(query: ListPartnersQuery) {
  const { sortBy = 'totalSaleAmount', sortOrder = 'desc', page, pageSize, country, ...filters } = query;
  const { groupId, status, email, tenantId, search } = filters;
  return {
    filters: { groupId, status, email: email?.toLowerCase(), tenantId, search, countries: countriesOf(country) },
    ...{ sortBy, sortOrder, page, pageSize },
  };
}

/** `GET|POST /partners`, `POST /partners/ban`, `POST /partners/deactivate` (spec 5.5). */
export async function partnerRoutes(app: App, parts: LinkParts): Promise<void> {
  const { catalog } = parts;
  const mayWrite = app.authenticate({ ...PARTNER_ACCESS, permission: 'conversions.write' });

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
      const { workspace, program } = await partnerCaller(parts, request);
      const found = await catalog.partners.list(workspace.id, pageOf(request.query));
      return partnerObjects(catalog, workspace.id, program.id, found);
    },
  );

  app.post(
    '/partners',
    {
      onRequest: mayWrite,
      schema: {
        summary: 'Enrol a partner, or retrieve one that is enrolled',
        tags,
        body: createPartnerBodySchema,
        response: { 201: partnerSchema },
      },
    },
    async (request, reply) =>
      reply.code(201).send(await enrolPartner(parts, await partnerCaller(parts, request), request.body)),
  );

  app.post(
    '/partners/ban',
    {
      onRequest: mayWrite,
      schema: {
        summary: 'Ban a partner and disable its links',
        tags,
        body: banPartnerBodySchema,
        response: { 200: partnerIdAnswerSchema },
      },
    },
    async (request) => ({ partnerId: await banPartner(parts, await partnerCaller(parts, request), request.body) }),
  );

  app.post(
    '/partners/deactivate',
    {
      onRequest: mayWrite,
      schema: {
        summary: 'Deactivate a partner',
        tags,
        body: deactivatePartnerBodySchema,
        response: { 200: partnerIdAnswerSchema },
      },
    },
    async (request) => ({
      partnerId: await deactivatePartner(parts, await partnerCaller(parts, request), request.body),
    }),
  );
}
