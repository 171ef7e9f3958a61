import type { JsonSchema } from './documented-api.js';

/** An invalid value for a field. */
export interface FieldFault {
  readonly kind: string;
  readonly path: readonly (string | number)[];
  /** The path in the notation of error messages. */
  readonly place: string;
  /** Undefined: the field is absent. */
  readonly value: unknown;
  /** Codes that the error message may begin with. */
  readonly codes: readonly string[];
}

type Schemas = Readonly<Record<string, JsonSchema>>;

interface FieldTraits {
  readonly isRequired: boolean;
  /** A query parameter: every value is a text, and an empty one counts as absent. */
  readonly isText: boolean;
}

/** Bodies with longer texts would exceed the limit of a body. */
const SENT_CHARS_MAX = 500_000;
const SAMPLES: Readonly<Record<string, unknown>> = {
  object: { x: 1 },
  array: [1],
  number: 5,
  string: 'x',
  boolean: true,
};

function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const { $ref } = schema;
  return $ref === undefined ? schema : resolved(schemas[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {}, schemas);
}

/** The schema with its references resolved, or its alternatives if it has any. */
function branchesOf(schema: JsonSchema, schemas: Schemas): JsonSchema[] {
  const own = resolved(schema, schemas);
  const inner = [...(own.anyOf ?? []), ...(own.oneOf ?? []), ...(own.allOf ?? [])];
  return inner.length === 0 ? [own] : inner.flatMap((one) => branchesOf(one, schemas));
}

/** JSON types of the branches; undefined = any. */
function typesOf(branches: readonly JsonSchema[]): string[] | undefined {
  if (branches.some((one) => one.type === undefined && one.enum === undefined && one.const === undefined))
    return undefined;
  return branches.flatMap((one) => [one.type ?? 'string'].flat()).map((type) => (type === 'integer' ? 'number' : type));
}

function isFreeJson(schema: JsonSchema): boolean {
  return schema.$ref?.includes('JsonValue') === true;
}

function placeOf(path: readonly (string | number)[]): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
  return text === '' ? 'body' : text.replace(/^\./, '');
}

function longText({ format, maxLength = 0 }: JsonSchema): string {
  const fill = 'x'.repeat(maxLength + 1);
  return format === 'email' ? `${fill}@acme.com` : format === 'uri' ? `https://acme.com/${fill}` : fill;
}

/** A value that is valid as far as types and required fields are concerned. */
function sampleOf(schema: JsonSchema, schemas: Schemas): unknown {
  const [branch = {}] = branchesOf(schema, schemas);
  const { type, properties = {}, required = [], items } = branch;
  if (branch.const !== undefined) return branch.const;
  if (branch.enum !== undefined) return branch.enum[0];
  if (branch.examples !== undefined) return branch.examples[0];
  if (properties !== undefined && [type].flat().includes('object')) {
    return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {}, schemas)]));
  }
  if ([type].flat().includes('array')) return [sampleOf(items ?? {}, schemas)];
  if ([type].flat().some((one) => one === 'number' || one === 'integer')) return branch.minimum ?? 1;
  if ([type].flat().includes('boolean')) return true;
  return branch.format === 'email' ? 'a@acme.com' : 'https://acme.com';
}

/** Values that violate the bounds of a schema without alternatives. */
function boundFaults(
  branch: JsonSchema,
  schemas: Schemas,
  isText: boolean,
): Pick<FieldFault, 'kind' | 'value' | 'codes'>[] {
  const { maxLength, minLength = 0, maxItems, maximum, minimum } = branch;
  const faults: Pick<FieldFault, 'kind' | 'value' | 'codes'>[] = [];
  if (branch.enum !== undefined) {
    faults.push({ kind: 'not listed', value: 'nonsense', codes: ['invalid_value'] });
  } else if (maxLength !== undefined && maxLength < SENT_CHARS_MAX) {
    faults.push({ kind: 'too long', value: longText(branch), codes: ['too_big'] });
  }
  if (minLength > 0 && !isText) faults.push({ kind: 'too small', value: '', codes: ['too_small', 'invalid_format'] });
  if (maxItems !== undefined) {
    const item = sampleOf(branch.items ?? {}, schemas);
    faults.push({ kind: 'too many', value: Array.from({ length: maxItems + 1 }, () => item), codes: ['too_big'] });
  }
  if (maximum !== undefined) faults.push({ kind: 'too great', value: maximum + 1, codes: ['too_big'] });
  if (minimum !== undefined) faults.push({ kind: 'too small', value: minimum - 1, codes: ['too_small'] });
  return faults;
}

/** All invalid values to test for a field and, in a body, for the fields inside it. */
export function faultsOf(
  schema: JsonSchema,
  schemas: Schemas,
  { isRequired, isText }: FieldTraits,
  path: readonly (string | number)[] = [],
): FieldFault[] {
  if (isFreeJson(schema)) return [];
  const branches = branchesOf(schema, schemas);
  const types = typesOf(branches);
  const found: Pick<FieldFault, 'kind' | 'value' | 'codes'>[] = branches.flatMap((one) =>
    boundFaults(one, schemas, isText),
  );
  if (isRequired) found.push({ kind: 'missing', value: undefined, codes: ['required'] });
  if (types !== undefined && !isText) {
    if (!types.includes('null')) found.push({ kind: 'null', value: null, codes: ['invalid_type', 'required'] });
    const wrong = Object.keys(SAMPLES).find((type) => !types.includes(type)) ?? '';
    found.push({ kind: 'wrong type', value: SAMPLES[wrong], codes: ['invalid_type'] });
  }
  if (types !== undefined && isText && !types.includes('string')) {
    found.push({ kind: 'wrong type', value: 'abc', codes: ['invalid_type'] });
  }
  const own = found.map((fault) => ({ ...fault, path, place: placeOf(path) }));
  const inner = branches.flatMap(({ properties = {}, required = [], items, additionalProperties }) => [
    ...Object.entries(properties).flatMap(([name, one]) =>
      faultsOf(one, schemas, { isRequired: required.includes(name), isText }, [...path, name]),
    ),
    ...(items === undefined ? [] : faultsOf(items, schemas, { isRequired: false, isText }, [...path, 0])),
    ...(typeof additionalProperties === 'object'
      ? faultsOf(additionalProperties, schemas, { isRequired: false, isText }, [...path, 'DE'])
      : []),
  ]);
  return [...own, ...inner];
}

function memberSchema(schema: JsonSchema, schemas: Schemas, part: string | number): JsonSchema {
  for (const { properties, items, additionalProperties } of branchesOf(schema, schemas)) {
    const member = typeof part === 'number' ? items : properties?.[part];
    if (member !== undefined) return member;
    if (typeof additionalProperties === 'object') return additionalProperties;
  }
  return {};
}

function placed(
  schema: JsonSchema,
  schemas: Schemas,
  base: unknown,
  [part, ...rest]: readonly (string | number)[],
  value: unknown,
): unknown {
  if (part === undefined) return value;
  const inner = memberSchema(schema, schemas, part);
  if (typeof part === 'number') {
    const [first, ...others] = Array.isArray(base) ? base : [sampleOf(inner, schemas)];
    return [placed(inner, schemas, first, rest, value), ...others];
  }
  const isObject = typeof base === 'object' && base !== null && !Array.isArray(base);
  const members: Record<string, unknown> = { ...(isObject ? base : (sampleOf(schema, schemas) as object)) };
  return { ...members, [part]: placed(inner, schemas, members[part], rest, value) };
}

/** The body with an invalid value in the field. */
export function withBodyFault(
  schema: JsonSchema,
  schemas: Schemas,
  base: unknown,
  { path, value }: FieldFault,
): unknown {
  return placed(schema, schemas, base, path, value);
}
