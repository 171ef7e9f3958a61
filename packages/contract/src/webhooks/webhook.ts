import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { formatCheck } from '../values/format-check.js';
import { pageShape, sortShape } from '../values/paging.js';
import { parseUrl, webAddress } from '../values/parse-url.js';
import { queryText } from '../values/query-values.js';

/** The kinds of event that a webhook can subscribe to. */
const WEBHOOK_TRIGGERS = [
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
  id: z.string().describe('Id of the webhook, `wh_…`.'),
  name: z.string().describe('Name of the webhook.'),
  url: z.string().describe('Where events are sent.'),
  secret: z.string().describe(`\`${HIDDEN_SECRET}\` for callers without webhooks.write`),
  triggers: triggers.describe('The kinds of event that are sent.'),
  linkScope: webhookLinkScopeSchema
    .nullable()
    .describe('Whose links’ clicks are sent: those of the whole workspace, of some folders or of some links.'),
  disabledAt: z.string().nullable().describe('Since when nothing is sent.'),
  installationId: z.string().nullable().describe('Always `null`.'),
});
export type Webhook = z.infer<typeof webhookSchema>;

/** Hosts that accept only bodies of their own form, so that every event would fail. */
const FOREIGN_HOSTS: ReadonlySet<string | undefined> = new Set(['hooks.slack.com', 'api.segment.io']);
const receiver = webAddress(2048).check(
  formatCheck(
    (text) => !FOREIGN_HOSTS.has(parseUrl(text)?.hostname.replace(/\.$/, '')),
    'must be a server that accepts events as they are sent: Slack and Segment do not, so send to one that translates them',
  ),
);

const idText = z.string().max(300);
const LINKS_MAX = 1000;
const FOLDERS_MAX = 100;

/** Body of `POST /webhooks`. Rules across fields are checked later. */
export const createWebhookBodySchema = z.object({
  name: z.string().trim().min(1).max(40).describe('Name of the webhook.'),
  url: receiver.describe('Where events are sent, http or https; unique in the workspace.'),
  triggers: triggers.describe('The kinds of event that are sent.'),
  linkScope: webhookLinkScopeSchema
    .nullish()
    .describe(
      'Whose links’ clicks are sent: those of the whole workspace, of some folders or of some links. Required with `link.clicked`.',
    ),
  linkIds: z
    .array(idText)
    .max(LINKS_MAX)
    .nullish()
    .describe('Ids of the links, with the scope `links`: `link_…` ids, or `ext_` and your own ids.'),
  folderIds: z.array(idText).max(FOLDERS_MAX).nullish().describe('Ids of the folders, with the scope `folders`.'),
});
export type CreateWebhookBody = z.infer<typeof createWebhookBodySchema>;

/** Body of `PATCH /webhooks/{id}`; `disabled: false` re-enables a webhook that was disabled after too many failures. */
export const updateWebhookBodySchema = createWebhookBodySchema.partial().extend({
  disabled: z.boolean().optional().describe('`false` enables a webhook that was disabled, `true` disables it.'),
});
export type UpdateWebhookBody = z.infer<typeof updateWebhookBodySchema>;

/** Query of `GET /webhooks`; sorted by creation, newest first, by default. */
export const listWebhooksQuerySchema = closedQuery({
  ...sortShape(['createdAt', 'name'], 'desc'),
  ...pageShape(),
  search: queryText.describe('Part of the name of the webhook, in any case.'),
});
