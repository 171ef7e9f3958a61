import type { UtmTemplateRecord } from '@waymark/catalog';
import { type UpdateUtmTemplateBody, UTM_TEMPLATE_FIELDS, type UtmTemplate } from '@waymark/contract';

type UtmFields = Pick<UtmTemplateRecord, (typeof UTM_TEMPLATE_FIELDS)[number]>;

/** The template object of every response. */
export function utmTemplateObject(record: UtmTemplateRecord): UtmTemplate {
  const { id, name, utm_source, utm_medium, utm_campaign, utm_term, utm_content, ref, createdAt, updatedAt } = record;
  return { id, name, utm_source, utm_medium, utm_campaign, utm_term, utm_content, ref, createdAt, updatedAt };
}

/** The UTM values that a body sets; empty texts become null. */
export function utmFields(body: UpdateUtmTemplateBody): Partial<UtmFields> {
  const present = UTM_TEMPLATE_FIELDS.filter((field) => body[field] !== undefined);
  return Object.fromEntries(present.map((field) => [field, body[field] || null]));
}
