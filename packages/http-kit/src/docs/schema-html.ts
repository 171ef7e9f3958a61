import { type JsonSchema, referenceName } from './document.js';
import { type Html, html, prose } from './html.js';

/** A row of a table of fields. */
export interface FieldRow {
  /** Path of the field, such as `sale.amount` or `testVariants[].url`. */
  readonly path: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

function alternatives(schema: JsonSchema): readonly JsonSchema[] | undefined {
  return schema.anyOf ?? schema.oneOf;
}

function joined(parts: readonly Html[], separator: Html): Html {
  return html`${parts.map((part, index) => (index === 0 ? part : html`${separator}${part}`))}`;
}

/** The type of a value in words, such as `string or null` or `list of Link`. */
export function typeHtml(schema: JsonSchema): Html {
  if (schema.$ref !== undefined) {
    const name = referenceName(schema.$ref);
    return html`<a href="#object-${name}">${name}</a>`;
  }
  const several = alternatives(schema);
  if (several !== undefined) return joined(several.map(typeHtml), html` or `);
  if (schema.enum !== undefined) {
    return joined(
      schema.enum.map((value) => html`<code>${String(value)}</code>`),
      html`, `,
    );
  }
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.type === 'array') return html`list of ${schema.items === undefined ? 'anything' : typeHtml(schema.items)}`;
  if (typeof schema.additionalProperties === 'object') {
    return html`object with values of type ${typeHtml(schema.additionalProperties)}`;
  }
  const types = schema.type === undefined ? ['anything'] : [schema.type].flat();
  return html`${types.join(' or ')}${schema.format === undefined ? '' : ` (${schema.format})`}`;
}

const BOUNDS = [
  ['minimum', 'at least', ''],
  ['maximum', 'at most', ''],
  ['minLength', 'at least', ' characters'],
  ['maxLength', 'at most', ' characters'],
  ['minItems', 'at least', ' items'],
  ['maxItems', 'at most', ' items'],
] as const;

/** Bounds and default of a value in words, including the bounds of its alternatives, such as those of a type that may be null. */
function boundsOf(schema: JsonSchema): string[] {
  const bounds = BOUNDS.flatMap(([name, words, unit]) => {
    const bound = schema[name];
    return bound === undefined || Math.abs(bound) === Number.MAX_SAFE_INTEGER ? [] : [`${words} ${bound}${unit}`];
  });
  const inner = (alternatives(schema) ?? []).flatMap(boundsOf);
  const defaults = schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`];
  return [...bounds, ...inner, ...defaults];
}

/** The fields of an object and, by path, of the objects inside it; named schemas are described in their own section. */
export function fieldRows(schema: JsonSchema, prefix = ''): FieldRow[] {
  const rows = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) === true;
    return [{ path, schema: field, isRequired }, ...fieldRows(field, `${path}.`)];
  });
  const inner = (alternatives(schema) ?? []).flatMap((option) => fieldRows(option, prefix));
  const items = schema.items === undefined ? [] : fieldRows(schema.items, `${prefix.replace(/\.$/, '')}[].`);
  return distinct([...rows, ...inner, ...items]);
}

/** Removes repeated paths, of which the first is kept: alternatives of a response share most of their fields. */
function distinct(rows: readonly FieldRow[]): FieldRow[] {
  return [...new Map([...rows].reverse().map((row) => [row.path, row])).values()].reverse();
}

function rowHtml({ path, schema, isRequired }: FieldRow): Html {
  const notes = boundsOf(schema).join(', ');
  const text = schema.description === undefined ? '' : prose(schema.description);
  return html`<tr><td><code>${path}</code>${isRequired ? html` <b>required</b>` : ''}</td>
<td>${typeHtml(schema)}${notes === '' ? '' : html`<small>${notes}</small>`}</td><td>${text}</td></tr>`;
}

/** A table of fields; empty if there are no fields. */
export function fieldTable(caption: string, rows: readonly FieldRow[]): Html {
  if (rows.length === 0) return html``;
  return html`<h4>${caption}</h4><div class="scroll"><table><tbody>${rows.map(rowHtml)}</tbody></table></div>`;
}
