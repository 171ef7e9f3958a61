import type { CustomerRecord } from '@waymark/catalog';
import {
  createCustomerBodySchema,
  customerSchema,
  type ExpandedCustomer,
  expandedCustomerSchema,
  expandedQuerySchema,
  listCustomersQuerySchema,
  updateCustomerBodySchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { z } from 'zod';
import { idAnswerSchema, idParamsSchema } from '../id-params.js';
import { customerObjects, expandedCustomers } from './customer-object.js';
import { type CustomerParts, createCustomer, deleteCustomer, findCustomer, updateCustomer } from './customers.js';
import { listCustomers } from './list-customers.js';

const tags = ['Customers'];

/** `GET|POST /customers`, `GET|PATCH|DELETE /customers/{id}` (spec 5.4). */
export async function customerRoutes(app: App, parts: CustomerParts): Promise<void> {
  const { catalog } = parts;
  const access = { roles: ['owner', 'member'], minimumPlan: 'business' } as const;
  const mayRead = app.authenticate(access);
  const mayWrite = app.authenticate({ ...access, permission: 'conversions.write' });
  const params = idParamsSchema;

  /** The only customer object of one record. */
  async function oneCustomer(record: CustomerRecord, isExpanded = false): Promise<ExpandedCustomer> {
    const objects = isExpanded ? expandedCustomers : customerObjects;
    const [customer] = await objects(catalog, record.workspaceId, [record]);
    if (customer === undefined) throw new TypeError('an object a record');
    return customer;
  }

  app.get(
    '/customers',
    {
      onRequest: mayRead,
      schema: {
        summary: 'List customers',
        tags,
        querystring: listCustomersQuerySchema,
        response: { 200: z.array(expandedCustomerSchema) },
      },
    },
    async ({ query, workspace }) => {
      const found = await listCustomers(catalog, workspace.id, query);
      return query.includeExpandedFields === true
        ? expandedCustomers(catalog, workspace.id, found)
        : customerObjects(catalog, workspace.id, found);
    },
  );

  app.post(
    '/customers',
    {
      onRequest: mayWrite,
      schema: { summary: 'Create a customer', tags, body: createCustomerBodySchema, response: { 201: customerSchema } },
    },
    async ({ body, workspace }, reply) =>
      reply.code(201).send(catalog.customers.toCustomer(await createCustomer(parts, workspace.id, body))),
  );

  app.get(
    '/customers/:id',
    {
      onRequest: mayRead,
      schema: {
        summary: 'Retrieve a customer',
        tags,
        params,
        querystring: expandedQuerySchema,
        response: { 200: expandedCustomerSchema },
      },
    },
    async ({ params: { id }, query, workspace }) =>
      oneCustomer(await findCustomer(parts, workspace.id, id), query.includeExpandedFields),
  );

  app.patch(
    '/customers/:id',
    {
      onRequest: mayWrite,
      schema: {
        summary: 'Update a customer',
        tags,
        params,
        querystring: expandedQuerySchema,
        body: updateCustomerBodySchema,
        response: { 200: expandedCustomerSchema },
      },
    },
    async ({ body, params: { id }, query, workspace }) =>
      oneCustomer(await updateCustomer(parts, workspace.id, id, body), query.includeExpandedFields),
  );

  app.delete(
    '/customers/:id',
    {
      onRequest: mayWrite,
      schema: { summary: 'Delete a customer', tags, params, response: { 200: idAnswerSchema } },
    },
    async ({ params: { id }, workspace }) => ({ id: await deleteCustomer(parts, workspace.id, id) }),
  );
}
