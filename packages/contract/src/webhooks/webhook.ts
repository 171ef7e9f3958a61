import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { webAddress } from '../values/parse-url.js';
import { queryText } from '../values/query-values.js';

/** The kinds of event that a webhook can subscribe to. */
export const WEBHOOK_TRIGGERS = [
  'link.created',
  'link.updated',
  'link.deleted',
  'link.clicked',
  'lead.created',
  'sale.created',
  'partner.enrolled',
  'export.completed',
  'export.failed',
  'import.completed',
  'import.failed',
] as const;
export type WebhookTrigger = (typeof WEBHOOK_TRIGGERS)[number];
export const webhookTriggerSchema = z.enum(WEBHOOK_TRIGGERS);
const triggers = z.array(webhookTriggerSchema).min(1).max(100);

/** The links whose clicks are sent to a webhook. */
export const webhookLinkScopeSchema = z.enum(['workspace', 'folders', 'links']);

/** Responses show this mask in place of a secret that the caller must not see. */
export const HIDDEN_SECRET = '********';

/** The webhook object of every response. */
export const webhookSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  secret: z.string().describe(`\`${HIDDEN_SECRET}\` for callers without webhooks.write`),
  triggers,
  linkScope: webhookLinkScopeSchema.nullable(),
  disabledAt: z.string().nullable(),
  installationId: z.string().nullable(),
});
export type Webhook = z.infer<typeof webhookSchema>;

const idText = z.string().max(300);
const LINKS_MAX = 1000;
const FOLDERS_MAX = 100;

/** Body of `POST /webhooks`. Rules across fields are checked later. */
export const createWebhookBodySchema = z.object({
  name: z.string().trim().min(1).max(40),
  url: webAddress(2048),
  triggers,
  linkScope: webhookLinkScopeSchema.nullish(),
  linkIds: z.array(idText).max(LINKS_MAX).nullish(),
  folderIds: z.array(idText).max(FOLDERS_MAX).nullish(),
});
export type CreateWebhookBody = z.infer<typeof createWebhookBodySchema>;

/** Body of `PATCH /webhooks/{id}`; `disabled: false` re-enables a webhook that was disabled after too many failures. */
export const updateWebhookBodySchema = createWebhookBodySchema.partial().extend({ disabled: z.boolean().optional() });
export type UpdateWebhookBody = z.infer<typeof updateWebhookBodySchema>;

/** Query of `GET /webhooks`; sorted by creation, newest first, by default. */
export const listWebhooksQuerySchema = closedQuery({
  ...sortShape(['createdAt', 'name']),
  ...pageShape(),
  search: queryText,
});
