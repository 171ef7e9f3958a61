import { z } from 'zod';
import { customerSchema } from '../events/customer.js';
import { clickSchema, saleDetailSchema } from '../events/event.js';
import { exportJobSchema } from '../exports/export-job.js';
import { exportScheduleSchema } from '../exports/export-schedule.js';
import { importJobSchema } from '../imports/import-job.js';
import { linkSchema } from '../links/link.js';
import { partnerSchema } from '../partners/partner.js';
import { jsonValueSchema } from '../values/json-value.js';

/** The partner of the link, in the data of a lead or sale. Amounts are in cents of USD. */
const webhookPartnerSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  email: z.string().nullable(),
  image: z.string().nullable(),
  payoutsEnabledAt: z.string().nullable(),
  country: z.string().nullable(),
  groupId: z.string().nullable().optional(),
  totalClicks: z.number(),
  totalLeads: z.number(),
  totalConversions: z.number(),
  totalSales: z.number(),
  totalSaleAmount: z.number(),
  totalCommissions: z.number(),
});
export type WebhookPartner = z.infer<typeof webhookPartnerSchema>;

const leadFields = {
  eventName: z.string(),
  customer: customerSchema,
  click: clickSchema,
  link: linkSchema,
  /** Only for partner links. */
  partner: webhookPartnerSchema.optional(),
  metadata: jsonValueSchema.nullable(),
};

/** The export that has ended: either a job, or a schedule when one of its windows has ended. The other field is null. */
const exportEndSchema = z.strictObject({ job: exportJobSchema.nullable(), schedule: exportScheduleSchema.nullable() });
export type ExportEndData = z.infer<typeof exportEndSchema>;

/** Schema of `data` for each kind of event. */
const webhookDataSchemas = {
  'link.created': linkSchema,
  'link.updated': linkSchema,
  'link.deleted': linkSchema,
  'link.clicked': z.strictObject({ click: clickSchema, link: linkSchema }),
  'lead.created': z.strictObject(leadFields),
  'sale.created': z.strictObject({ ...leadFields, sale: saleDetailSchema }),
  'partner.enrolled': partnerSchema,
  'export.completed': exportEndSchema,
  'export.failed': exportEndSchema,
  'import.completed': importJobSchema,
  'import.failed': importJobSchema,
} as const;

function envelope<const Event extends keyof typeof webhookDataSchemas>(event: Event) {
  return z.strictObject({
    /** The same for every delivery attempt of the event. */
    id: z.string().regex(/^evt_[0-9A-Za-z]{25}$/),
    event: z.literal(event),
    createdAt: z.iso.datetime(),
    data: webhookDataSchemas[event],
  });
}

/** Body of a webhook delivery (docs/reference/webhooks.md). */
export const webhookEventSchema = z.discriminatedUnion('event', [
  envelope('link.created'),
  envelope('link.updated'),
  envelope('link.deleted'),
  envelope('link.clicked'),
  envelope('lead.created'),
  envelope('sale.created'),
  envelope('partner.enrolled'),
  envelope('export.completed'),
  envelope('export.failed'),
  envelope('import.completed'),
  envelope('import.failed'),
]);
export type WebhookEvent = z.infer<typeof webhookEventSchema>;
