import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { queryText } from '../values/query-values.js';
import { resourceName } from './tag.js';

/** Most templates per workspace. */
export const UTM_TEMPLATES_MAX = 1000;

/** The URL parameters that a template sets: the five UTM parameters and `ref`. */
export const UTM_TEMPLATE_FIELDS = [
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_term',
  'utm_content',
  'ref',
] as const;
type UtmTemplateField = (typeof UTM_TEMPLATE_FIELDS)[number];

function eachField<Value>(value: Value): Record<UtmTemplateField, Value> {
  return Object.fromEntries(UTM_TEMPLATE_FIELDS.map((field) => [field, value])) as Record<UtmTemplateField, Value>;
}

/** A template of UTM values, as every response shows it. */
export const utmTemplateSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  ...eachField(z.string().nullable()),
  createdAt: z.string(),
  updatedAt: z.string(),
});
export type UtmTemplate = z.infer<typeof utmTemplateSchema>;

/** Body of `POST /utm`; absent, blank and null values all mean no value. */
export const createUtmTemplateBodySchema = z.object({
  name: resourceName,
  ...eachField(z.string().trim().max(255).nullish()),
});
export type CreateUtmTemplateBody = z.infer<typeof createUtmTemplateBodySchema>;

/** Body of `PATCH /utm/{id}`; absent fields stay unchanged, null clears. */
export const updateUtmTemplateBodySchema = createUtmTemplateBodySchema.partial();
export type UpdateUtmTemplateBody = z.infer<typeof updateUtmTemplateBodySchema>;

/** Query of `GET /utm`; sorted by name, ascending, by default. */
export const listUtmTemplatesQuerySchema = closedQuery({
  ...sortShape(['name', 'createdAt']),
  ...pageShape(),
  search: queryText,
});
