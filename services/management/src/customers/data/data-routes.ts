import { type Catalog, type CustomerRecord, NO_CUSTOMER_TOTALS } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { ApiError, customerDataSchema, ownIdParamsSchema, parseResourceId } from '@waymark/contract';
import { type ExportDeps, fileName, sendFile } from '@waymark/export';
import { type App, checkAuthorization } from '@waymark/http-kit';
import type { FastifyRequest } from 'fastify';
import { findCustomer } from '../customers.js';
import { personFile } from './person-file.js';
import { hasEvents, type Person } from './person-rows.js';

export interface CustomerDataDeps extends ExportDeps {
  readonly catalog: Catalog;
  readonly clickhouse: ClickHouseClient;
  readonly now: () => number;
}

/** The record of the customer; undefined when there is none. @throws ApiError other than not_found */
function recordOf(catalog: Catalog, workspaceId: string, id: string): Promise<CustomerRecord | undefined> {
  return findCustomer(catalog, workspaceId, id).catch((err: unknown) => {
    if (err instanceof ApiError && err.code === 'not_found') return undefined;
    throw err;
  });
}

/** A hook that checks the second permission of the route: the file contains webhook deliveries. @throws ApiError 403 */
async function checkReadsWebhooks({ apiKey, workspace }: FastifyRequest): Promise<void> {
  checkAuthorization(apiKey, workspace, { permission: 'webhooks.read' });
}

/**
 * `GET /customers/{id}/data`. For owners only: the file has events of hidden folders, IP addresses and webhook deliveries.
 */
export async function customerDataRoutes(app: App, deps: CustomerDataDeps): Promise<void> {
  const { catalog, clickhouse } = deps;
  app.get(
    '/customers/:id/data',
    {
      exposeHeadRoute: false,
      onRequest: [
        app.authenticate({ roles: ['owner'], permission: 'analytics.read', minimumPlan: 'business' }),
        checkReadsWebhooks,
      ],
      schema: {
        operationId: 'getCustomerData',
        summary: 'Retrieve everything that is held on a customer',
        tags: ['Customers'],
        params: ownIdParamsSchema,
        response: { 200: customerDataSchema },
      },
    },
    async (request, reply) => {
      const { params, workspace } = request;
      const record = await recordOf(catalog, workspace.id, params.id);
      const customerId = record?.id ?? params.id;
      const [customer, number] = [parseResourceId('customer', customerId), parseResourceId('workspace', workspace.id)];
      if (customer === undefined || number === undefined) throw new ApiError('not_found', 'Customer not found.');
      const person: Person = {
        clickhouse,
        workspace: number,
        customer,
        customerId,
        firstClickId: record?.clickId ?? null,
        caller: { endpoint: 'GET /customers/{id}/data', workspaceId: workspace.id, requestId: request.id },
      };
      // A deleted customer has no record, but its events may still be stored.
      if (record === undefined && !(await hasEvents(person))) throw new ApiError('not_found', 'Customer not found.');
      const totals = (await catalog.customers.counters(workspace.id, [customerId])).get(customerId);
      return sendFile(reply, {
        name: fileName('customer-data', deps.now(), 'json'),
        mediaType: 'application/json; charset=utf-8',
        isCompressed: false,
        bytes: personFile(person, record, totals ?? NO_CUSTOMER_TOTALS),
        trailers: {},
        slot: deps.exportSlots.take(workspace.id),
      });
    },
  );
}
