import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { queryText } from '../values/query-values.js';
import { resourceName } from './tag.js';

/** Maximum number of UTM templates of a workspace. */
export const UTM_TEMPLATES_MAX = 1000;

/** The five UTM parameters of a URL. The fields of a link with their values have the same names. */
export const UTM_FIELDS = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'] as const;

/** The URL parameters that a UTM template, or the body of a link request, can set. */
export const UTM_TEMPLATE_FIELDS = [...UTM_FIELDS, 'ref'] as const;
type UtmTemplateField = (typeof UTM_TEMPLATE_FIELDS)[number];

/** An object with a value for each field of a template. */
export function eachUtmField<Value>(valueFor: (field: UtmTemplateField) => Value): Record<UtmTemplateField, Value> {
  return Object.fromEntries(UTM_TEMPLATE_FIELDS.map((field) => [field, valueFor(field)])) as Record<
    UtmTemplateField,
    Value
  >;
}

/** The schema of each field of a template, with its description. */
export const utmShape = <Schema extends z.ZodType>(schema: Schema) =>
  eachUtmField((field) => schema.describe(`The parameter \`${field}\` of the destination.`));

/** The UTM template object of every response. */
export const utmTemplateSchema = z.strictObject({
  id: z.string().describe('Id of the template, `utm_…`.'),
  name: z.string().describe('Name of the template, unique in the workspace in any case.'),
  ...utmShape(z.string().nullable()),
  createdAt: z.string().describe('When the template was created.'),
  updatedAt: z.string().describe('When the template was last changed.'),
});
export type UtmTemplate = z.infer<typeof utmTemplateSchema>;

/** Body of `POST /utm`; absent, blank and null values all mean no value. */
export const createUtmTemplateBodySchema = z.object({
  name: resourceName.describe('Name of the template, unique in the workspace in any case.'),
  ...utmShape(z.string().trim().max(255).nullish()),
});

/** Body of `PATCH /utm/{id}`; absent fields stay unchanged, null clears. */
export const updateUtmTemplateBodySchema = createUtmTemplateBodySchema.partial();
export type UpdateUtmTemplateBody = z.infer<typeof updateUtmTemplateBodySchema>;

/** Query of `GET /utm`; sorted by name, ascending, by default. */
export const listUtmTemplatesQuerySchema = closedQuery({
  ...sortShape(['name', 'createdAt'], 'asc'),
  ...pageShape(),
  search: queryText.describe('Part of the name of the template, in any case.'),
});
