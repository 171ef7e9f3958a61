import { z } from 'zod';
import { customerSchema } from './events/customer.js';
import { clickEventSchema, clickSchema, leadEventSchema, saleEventSchema } from './events/event.js';
import { domainSchema } from './links/domain.js';
import { folderSchema } from './links/folder.js';
import { linkSchema, tagSchema } from './links/link.js';
import { utmTemplateSchema } from './links/utm.js';
import { partnerSchema } from './partners/partner.js';
import { jsonValueSchema } from './values/json-value.js';
import { webhookSchema } from './webhooks/webhook.js';
import { workspaceSchema } from './workspaces/workspace.js';

/**
 * Names of the schemas that the OpenAPI document describes once and refers to. Any JSON value has to be among them: a
 * recursive schema can be described by reference only.
 */
const NAMED_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  Click: clickSchema,
  ClickEvent: clickEventSchema,
  Customer: customerSchema,
  Domain: domainSchema,
  Folder: folderSchema,
  JsonValue: jsonValueSchema,
  LeadEvent: leadEventSchema,
  Link: linkSchema,
  Partner: partnerSchema,
  SaleEvent: saleEventSchema,
  Tag: tagSchema,
  UtmTemplate: utmTemplateSchema,
  Webhook: webhookSchema,
  Workspace: workspaceSchema,
};

for (const [id, schema] of Object.entries(NAMED_SCHEMAS)) z.globalRegistry.add(schema, { id });
