import type { CustomerRecord, KeyCaller } from '@waymark/catalog';
import {
  CUSTOMER_COLUMNS,
  createCustomerBodySchema,
  customerSchema,
  type ExpandedCustomer,
  expandedCustomerSchema,
  expandedQuerySchema,
  exportCustomersQuerySchema,
  idAnswerSchema,
  listCustomersQuerySchema,
  ownIdParamsSchema,
  updateCustomerBodySchema,
} from '@waymark/contract';
import { chooseColumns, type ExportDeps, MEDIA_TYPES, sendList } from '@waymark/export';
import { type App, disconnectSignal } from '@waymark/http-kit';
import { CUSTOMER_COLUMN_SOURCES, customerObjects, expandedCustomers, exportCustomers } from '@waymark/record-lists';
import { z } from 'zod';
import { createCustomer, deleteCustomer, findCustomer, updateCustomer } from './customers.js';
import { listCustomers } from './list-customers.js';
import type { StoredAnswerDeps } from './stored-answers.js';

const tags = ['Customers'];

export interface CustomerRouteDeps extends StoredAnswerDeps, ExportDeps {
  readonly now: () => number;
}

/** `GET|POST /customers`, `GET /customers/export`, `GET|PATCH|DELETE /customers/{id}`. */
export async function customerRoutes(app: App, deps: CustomerRouteDeps): Promise<void> {
  const { catalog } = deps;
  const access = { roles: ['owner', 'member'], minimumPlan: 'business' } as const;
  const authenticateReader = app.authenticate(access);
  const authenticateWriter = app.authenticate({ ...access, permission: 'conversions.write' });
  const params = ownIdParamsSchema;

  /** The customer object of one record. */
  async function oneCustomer(caller: KeyCaller, record: CustomerRecord, isExpanded = false): Promise<ExpandedCustomer> {
    const [customer] = isExpanded
      ? await expandedCustomers(catalog, caller, [record])
      : await customerObjects(catalog, record.workspaceId, [record]);
    if (customer === undefined) throw new TypeError('no customer object for the record');
    return customer;
  }

  app.get(
    '/customers',
    {
      onRequest: authenticateReader,
      schema: {
        summary: 'List customers',
        tags,
        querystring: listCustomersQuerySchema,
        response: { 200: z.array(expandedCustomerSchema) },
      },
    },
    async (request) => {
      const { query, workspace } = request;
      const found = await listCustomers(catalog, request, query);
      return query.includeExpandedFields === true
        ? expandedCustomers(catalog, request, found)
        : customerObjects(catalog, workspace.id, found);
    },
  );

  app.get(
    '/customers/export',
    {
      exposeHeadRoute: false,
      onRequest: authenticateReader,
      schema: {
        operationId: 'exportCustomers',
        summary: 'Export customers as a file',
        tags,
        querystring: exportCustomersQuerySchema,
        produces: Object.values(MEDIA_TYPES),
      },
    },
    async (request, reply) => {
      const { query, workspace } = request;
      const columns = chooseColumns(query.columns, CUSTOMER_COLUMNS, CUSTOMER_COLUMN_SOURCES);
      const source = await exportCustomers(catalog, request, query, { clientLeft: disconnectSignal(reply) });
      const file = { workspaceId: workspace.id, what: 'customers', nowMs: deps.now() };
      return sendList(reply, { ...file, query, columns, source, exportSlots: deps.exportSlots });
    },
  );

  app.post(
    '/customers',
    {
      onRequest: authenticateWriter,
      schema: { summary: 'Create a customer', tags, body: createCustomerBodySchema, response: { 201: customerSchema } },
    },
    async ({ body, workspace }, reply) =>
      reply.code(201).send(catalog.customers.toCustomer(await createCustomer(deps, workspace.id, body))),
  );

  app.get(
    '/customers/:id',
    {
      onRequest: authenticateReader,
      schema: {
        summary: 'Retrieve a customer',
        tags,
        params,
        querystring: expandedQuerySchema,
        response: { 200: expandedCustomerSchema },
      },
    },
    async (request) => {
      const { params, query, workspace } = request;
      return oneCustomer(request, await findCustomer(catalog, workspace.id, params.id), query.includeExpandedFields);
    },
  );

  app.patch(
    '/customers/:id',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Update a customer',
        tags,
        params,
        querystring: expandedQuerySchema,
        body: updateCustomerBodySchema,
        response: { 200: expandedCustomerSchema },
      },
    },
    async (request) => {
      const { body, params, query, workspace } = request;
      const updated = await updateCustomer(deps, workspace.id, params.id, body);
      return oneCustomer(request, updated, query.includeExpandedFields);
    },
  );

  app.delete(
    '/customers/:id',
    {
      onRequest: authenticateWriter,
      schema: { summary: 'Delete a customer', tags, params, response: { 200: idAnswerSchema } },
    },
    async ({ params: { id }, workspace }) => ({ id: await deleteCustomer(deps, workspace.id, id) }),
  );
}
