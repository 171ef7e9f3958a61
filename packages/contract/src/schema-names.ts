import { z } from 'zod';
import { customerSchema } from './events/customer.js';
import { erasureSchema } from './events/erasure.js';
import { clickEventSchema, clickSchema, leadEventSchema, saleEventSchema } from './events/event.js';
import { exportJobSchema } from './exports/export-job.js';
import { exportScheduleSchema } from './exports/export-schedule.js';
import { importJobSchema } from './imports/import-job.js';
import { domainSchema } from './links/domain.js';
import { folderSchema } from './links/folder.js';
import { linkSchema, tagSchema } from './links/link.js';
import { utmTemplateSchema } from './links/utm.js';
import { partnerSchema } from './partners/partner.js';
import { jsonValueSchema } from './values/json-value.js';
import { webhookSchema } from './webhooks/webhook.js';
import { workspaceSchema } from './workspaces/workspace.js';

/**
 * The schemas that the OpenAPI document defines once and refers to by these names. Importing this file registers them. `JsonValue` must be
 * one of them, because a recursive schema can only be described by reference.
 */
const NAMED_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  Click: clickSchema,
  ClickEvent: clickEventSchema,
  Customer: customerSchema,
  Domain: domainSchema,
  Erasure: erasureSchema,
  ExportJob: exportJobSchema,
  ExportSchedule: exportScheduleSchema,
  Folder: folderSchema,
  ImportJob: importJobSchema,
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
