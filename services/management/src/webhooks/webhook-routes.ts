import type { Catalog } from '@waymark/catalog';
import {
  createWebhookBodySchema,
  idAnswerSchema,
  idParamsSchema,
  listWebhooksQuerySchema,
  updateWebhookBodySchema,
  webhookSchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import type { WebhookNotifier } from '@waymark/webhooks';
import { z } from 'zod';
import { createWebhook, updateWebhook, webhookObject } from './webhooks.js';

const tags = ['Webhooks'];

export interface WebhookDeps {
  readonly catalog: Catalog;
  readonly notifier: Pick<WebhookNotifier, 'webhookStopped'>;
  readonly now: () => number;
}

/** `GET|POST /webhooks`, `GET|PATCH|DELETE /webhooks/{id}`. */
export async function webhookRoutes(app: App, { catalog, notifier, now }: WebhookDeps): Promise<void> {
  const authenticateReader = app.authenticate({ permission: 'webhooks.read', minimumPlan: 'business' });
  const authenticateWriter = app.authenticate({ permission: 'webhooks.write', minimumPlan: 'business' });
  const params = idParamsSchema;

  app.get(
    '/webhooks',
    {
      onRequest: authenticateReader,
      schema: {
        summary: 'List webhooks',
        tags,
        querystring: listWebhooksQuerySchema,
        response: { 200: z.array(webhookSchema) },
      },
    },
    async ({ query, workspace, apiKey }) => {
      const { search, sortBy = 'createdAt', sortOrder = 'desc', page, pageSize } = query;
      const request = { filters: { search }, sortBy, sortOrder, page, pageSize };
      return (await catalog.webhooks.list(workspace.id, request)).map((record) =>
        webhookObject(catalog, apiKey, record),
      );
    },
  );

  app.post(
    '/webhooks',
    {
      onRequest: authenticateWriter,
      schema: { summary: 'Create a webhook', tags, body: createWebhookBodySchema, response: { 201: webhookSchema } },
    },
    async ({ body, workspace, apiKey }, reply) =>
      reply.code(201).send(webhookObject(catalog, apiKey, await createWebhook(catalog, workspace.id, body))),
  );

  app.get(
    '/webhooks/:id',
    {
      onRequest: authenticateReader,
      schema: { summary: 'Retrieve a webhook', tags, params, response: { 200: webhookSchema } },
    },
    async ({ params: { id }, workspace, apiKey }) =>
      webhookObject(catalog, apiKey, await catalog.webhooks.require(workspace.id, id)),
  );

  app.patch(
    '/webhooks/:id',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Update a webhook',
        tags,
        params,
        body: updateWebhookBodySchema,
        response: { 200: webhookSchema },
      },
    },
    async ({ body, params: { id }, workspace, apiKey }) => {
      const record = await updateWebhook(catalog, workspace.id, id, body, now());
      if (record.disabledAt !== null) await notifier.webhookStopped(workspace.id, id);
      return webhookObject(catalog, apiKey, record);
    },
  );

  app.delete(
    '/webhooks/:id',
    {
      onRequest: authenticateWriter,
      schema: { summary: 'Delete a webhook', tags, params, response: { 200: idAnswerSchema } },
    },
    async ({ params: { id }, workspace }) => {
      const removal = catalog.webhooks.remove(workspace.id, id);
      // Also after an error, because an earlier request may have removed it and been interrupted before this step.
      await removal.finally(() => notifier.webhookStopped(workspace.id, id));
      return { id };
    },
  );
}
