import {
  approveApplicationBodySchema,
  listApplicationsQuerySchema,
  partnerApplicationSchema,
  partnerIdAnswerSchema,
  rejectApplicationBodySchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { z } from 'zod';
import type { LinkDeps } from '../links/link-deps.js';
import { partnerCaller } from './partner-caller.js';
import { countriesOf, PARTNER_ACCESS } from './partner-routes.js';
import { applicationObject, approveApplication, rejectApplication } from './partner-status.js';

const tags = ['Partners'];

/** `GET /partners/applications`, `POST /partners/applications/approve|reject`. */
export async function applicationRoutes(app: App, deps: LinkDeps): Promise<void> {
  const { catalog } = deps;
  const authenticateWriter = app.authenticate({ ...PARTNER_ACCESS, permission: 'conversions.write' });
  const response = { 200: partnerIdAnswerSchema };

  app.get(
    '/partners/applications',
    {
      onRequest: app.authenticate(PARTNER_ACCESS),
      schema: {
        summary: 'List applications that wait for a decision',
        tags,
        querystring: listApplicationsQuerySchema,
        response: { 200: z.array(partnerApplicationSchema) },
      },
    },
    async (request) => {
      const { workspace } = await partnerCaller(deps, request);
      const { sortBy = 'createdAt', sortOrder = 'desc', page, pageSize, country, groupId } = request.query;
      const filters = { status: 'pending' as const, groupId, countries: countriesOf(country) };
      const found = await catalog.partners.list(workspace.id, { filters, sortBy, sortOrder, page, pageSize }, false);
      return found.map(applicationObject);
    },
  );

  app.post(
    '/partners/applications/approve',
    {
      onRequest: authenticateWriter,
      schema: { summary: 'Approve an application', tags, body: approveApplicationBodySchema, response },
    },
    async (request) => ({
      partnerId: await approveApplication(deps, await partnerCaller(deps, request), request.body),
    }),
  );

  app.post(
    '/partners/applications/reject',
    {
      onRequest: authenticateWriter,
      schema: { summary: 'Reject an application', tags, body: rejectApplicationBodySchema, response },
    },
    async (request) => ({
      partnerId: await rejectApplication(deps, await partnerCaller(deps, request), request.body),
    }),
  );
}
