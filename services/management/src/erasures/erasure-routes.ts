import {
  createErasureBodySchema,
  erasureSchema,
  idParamsSchema,
  listErasuresQuerySchema,
  ownIdParamsSchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { createReplication } from '@waymark/redis';
import { z } from 'zod';
import type { StoredAnswerDeps } from '../customers/stored-answers.js';
import { eraseCustomer } from './erase-customer.js';

const tags = ['Customers'];

/** Dependencies of {@link erasureRoutes}. */
export interface ErasureRouteDeps extends StoredAnswerDeps {
  /** How many replicas of Redis must have what an erasure removes before it is answered; 0 by default. */
  readonly waitReplicas?: number | undefined;
}

/** `POST /customers/{id}/erasure`, `GET /erasures`, `GET /erasures/{id}`. */
export async function erasureRoutes(app: App, deps: ErasureRouteDeps): Promise<void> {
  const { erasures } = deps.catalog;
  const replications = deps.queueShards.map((shard) => createReplication(shard, deps.waitReplicas ?? 0));
  // An erasure cannot be undone, so it needs a higher permission than the deletion of a customer. It is part of every plan.
  const mayErase = app.authenticate({ permission: 'workspaces.write' });
  const authenticateReader = app.authenticate({ roles: ['owner'], permission: 'workspaces.read' });

  app.post(
    '/customers/:id/erasure',
    {
      onRequest: mayErase,
      schema: {
        operationId: 'eraseCustomer',
        summary: 'Erase a person',
        description:
          'Removes the customer at once, and within a day the texts of their events and clicks from every file of the database. ' +
          'With `ext_` and an external id that no customer has, rows of that customer which arrive later are erased.',
        tags,
        params: ownIdParamsSchema,
        body: createErasureBodySchema,
        response: { 202: erasureSchema },
      },
    },
    async ({ body, params, workspace }, reply) => {
      const { mode = 'anonymise' } = body;
      const erasure = await eraseCustomer({ ...deps, replications }, workspace.id, params.id, mode);
      return reply.code(202).send(erasures.toErasure(erasure));
    },
  );

  app.get(
    '/erasures',
    {
      onRequest: authenticateReader,
      schema: {
        summary: 'List erasures',
        tags,
        querystring: listErasuresQuerySchema,
        response: { 200: z.array(erasureSchema) },
      },
    },
    async ({ query, workspace }) => {
      const list = { filters: {}, sortBy: 'createdAt', sortOrder: 'desc', ...query } as const;
      return (await erasures.list(workspace.id, list)).map(erasures.toErasure);
    },
  );

  app.get(
    '/erasures/:id',
    {
      onRequest: authenticateReader,
      schema: { summary: 'Retrieve an erasure', tags, params: idParamsSchema, response: { 200: erasureSchema } },
    },
    async ({ params, workspace }) => {
      return erasures.toErasure(await erasures.require(workspace.id, params.id));
    },
  );
}
