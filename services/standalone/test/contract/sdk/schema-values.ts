import fc from 'fast-check';
import type { JsonSchema } from '../documented-api.js';

type Schemas = Readonly<Record<string, JsonSchema>>;

const LIST_MAX = 3;
/** Schemas of any JSON, which refer to themselves. */
const ANY_JSON = /^JsonValue/;

/** Numbers as JSON has them: small, large, fractional, and beyond 32 bits. */
function numbers({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER, type }: JsonSchema): fc.Arbitrary<number> {
  const whole = fc.oneof(fc.constant(minimum), fc.integer({ min: minimum, max: maximum }));
  if (type === 'integer') return whole;
  return fc.oneof(whole, fc.double({ min: minimum, max: maximum, noNaN: true }));
}

function texts({ format, pattern, maxLength }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'date-time') {
    const time = { min: new Date('0000-01-01T00:00:00.000Z'), max: new Date('9999-12-31T23:59:59.999Z') };
    return fc.date({ ...time, noInvalidDate: true }).map((date) => date.toISOString());
  }
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  return fc.string({ unit: 'binary', maxLength: Math.min(maxLength ?? 20, 20) });
}

function objects(schema: JsonSchema, schemas: Schemas): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  const known = Object.entries(properties).map(([name, value]) => [name, valuesOf(value, schemas)] as const);
  const fixed = fc.record(Object.fromEntries(known), { requiredKeys: [...required] });
  if (typeof additionalProperties !== 'object') return fixed;
  const names = propertyNames === undefined ? fc.string() : (valuesOf(propertyNames, schemas) as fc.Arbitrary<string>);
  const others = fc.dictionary(names, valuesOf(additionalProperties, schemas), {
    maxKeys: LIST_MAX,
    noNullPrototype: true,
  });
  return fc.tuple(others, fixed).map(([more, own]) => ({ ...more, ...own }));
}

/** Values that a JSON schema of the OpenAPI document allows. */
export function valuesOf(schema: JsonSchema, schemas: Schemas): fc.Arbitrary<unknown> {
  const inner = (one: JsonSchema) => valuesOf(one, schemas);
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace(/^.*\//, '');
    const named = schemas[name];
    if (named === undefined) throw new Error(`there is no schema ${name}`);
    return ANY_JSON.test(name) ? fc.jsonValue({ maxDepth: 2 }) : inner(named);
  }
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map(inner));
  const { type } = schema;
  if (Array.isArray(type)) return fc.oneof(...type.map((one: string) => inner({ ...schema, type: one })));
  switch (type) {
    case 'object':
      return objects(schema, schemas);
    case 'array':
      return fc.array(inner(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: schema.maxItems ?? LIST_MAX,
      });
    case 'string':
      return texts(schema);
    case 'integer':
    case 'number':
      return numbers(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case undefined:
      return fc.jsonValue({ maxDepth: 2 });
    default:
      throw new Error(`there are no values for the type ${String(type)}`);
  }
}
