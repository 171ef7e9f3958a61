import { z } from 'zod';
import { customerSchema } from './customer.js';
import { domainSchema } from './domain.js';
import { clickEventSchema, clickSchema, leadEventSchema, saleEventSchema } from './event.js';
import { folderSchema } from './folder.js';
import { jsonValueSchema } from './json-value.js';
import { linkSchema, tagSchema } from './link.js';
import { partnerSchema } from './partner.js';
import { utmTemplateSchema } from './utm.js';
import { webhookSchema } from './webhook.js';
import { workspaceSchema } from './workspace.js';

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
