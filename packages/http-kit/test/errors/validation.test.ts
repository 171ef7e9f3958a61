import {
  ApiError,
  createLinkBodySchema,
  eventsQuerySchema,
  queryBoolean,
  queryEnum,
  queryInteger,
  queryJoinedValues,
  queryList,
  queryText,
  trackLeadBodySchema,
  trackSaleBodySchema,
  trackSaleClientBodySchema,
} from '@waymark/contract';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseInput } from '../../src/index.js';

function refusal(schema: z.ZodType, value: unknown): readonly [number, string] | undefined {
  try {
    parseInput(schema, value);
    return undefined;
  } catch (err) {
    if (err instanceof ApiError) return [err.status, err.message];
    throw err;
  }
}

const colour = z.enum(['red', 'blue']);
const tagIds = z.union([z.string().max(5), z.array(z.string().max(5)).max(2)]);
const shape = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('circle'), radius: z.number() }),
  z.object({ kind: z.literal('square'), side: z.number() }),
]);

describe('missing fields and wrong types answer 400', () => {
  it.each<[string, z.ZodType, unknown, string]>([
    ['a required field left out', z.object({ url: z.string() }), {}, 'required: url: is required'],
    [
      'a required field that is null',
      z.object({ url: z.string() }),
      { url: null },
      'invalid_type: url: must be a string, not null',
    ],
    ['a number for a string', z.object({ url: z.string() }), { url: 5 }, 'invalid_type: url: must be a string'],
    ['a string for a number', z.object({ amount: z.int() }), { amount: '5' }, 'invalid_type: amount: must be a number'],
    [
      'an object for an array',
      z.object({ tags: z.array(z.string()) }),
      { tags: {} },
      'invalid_type: tags: must be a list',
    ],
    ['no body', z.object({ url: z.string() }), undefined, 'required: body: is required'],
    ['an array for the body', z.object({ url: z.string() }), [], 'invalid_type: body: must be an object'],
    ['a required enum left out', z.object({ colour }), {}, 'required: colour: is required'],
    [
      'a required enum that is null',
      z.object({ colour }),
      { colour: null },
      'invalid_type: colour: must be a string, not null',
    ],
    ['a number for an enum', z.object({ colour }), { colour: 3 }, 'invalid_type: colour: must be a string'],
    [
      'a wrong type deep inside',
      z.object({ data: z.object({ tagIds: z.array(z.string()) }) }),
      { data: { tagIds: [1] } },
      'invalid_type: data.tagIds[0]: ',
    ],
    ['a union left out', z.object({ tagIds }), {}, 'required: tagIds: is required'],
    [
      'a union of the wrong type',
      z.object({ tagIds }),
      { tagIds: 5 },
      'invalid_type: tagIds: must be a string or a list',
    ],
    ['the wrong type inside a union', z.object({ tagIds }), { tagIds: ['a', 5] }, 'invalid_type: tagIds[1]: '],
    ['a discriminator left out', z.object({ shape }), { shape: {} }, 'required: shape.kind: '],
    [
      'a field of the chosen variant left out',
      z.object({ shape }),
      { shape: { kind: 'circle' } },
      'required: shape.radius: ',
    ],
    ['free JSON left out', z.object({ metadata: z.json() }), {}, 'required: metadata: is required'],
    [
      'a key that is not an identifier',
      z.object({ 'a-b': z.object({ 'c.d': z.string() }) }),
      { 'a-b': {} },
      'required: ["a-b"]["c.d"]: ',
    ],
  ])('%s', (_what, schema, value, start) => {
    const [status, message] = refusal(schema, value) ?? [];
    expect(message).toContain(start);
    expect(status).toBe(400);
  });
});

describe('values that are well-formed but not allowed answer 422', () => {
  it.each<[string, z.ZodType, unknown, string]>([
    [
      'too long',
      z.object({ utm_source: z.string().max(3) }),
      { utm_source: 'abcd' },
      'too_big: utm_source: must have at most 3 characters',
    ],
    [
      'too short',
      z.object({ name: z.string().min(1) }),
      { name: '' },
      'too_small: name: must have at least 1 character',
    ],
    ['out of range', z.object({ limit: z.number().max(5) }), { limit: 6 }, 'too_big: limit: must be at most 5'],
    [
      'a fraction for an integer',
      z.object({ length: z.int() }),
      { length: 1.5 },
      'invalid_type: length: must be a whole number',
    ],
    ...(
      [
        ['a number', z.number().max(90)],
        ['an integer', z.int()],
        ['a union', z.union([z.string(), z.number()])],
        ['an amount', trackSaleClientBodySchema.shape.amount],
      ] as const
    ).flatMap(([what, amount]): [string, z.ZodType, unknown, string][] => [
      [
        `${what} beyond the doubles`,
        z.object({ amount }),
        JSON.parse('{"amount":1e999}'),
        'too_big: amount: is too great',
      ],
      [`${what} below the doubles`, z.object({ amount }), { amount: -Infinity }, 'too_small: amount: is too small'],
    ]),
    ['an integer beyond the safe range', z.object({ amount: z.int() }), { amount: 2 ** 60 }, 'too_big: amount: '],
    [
      'not in the enum',
      z.object({ colour }),
      { colour: 'green' },
      'invalid_value: colour: must be one of "red", "blue"',
    ],
    ['a bad format', z.object({ email: z.email() }), { email: 'x' }, 'invalid_format: email: must be an email address'],
    [
      'a failed cross-field check',
      z.object({ a: z.string() }).refine(() => false, 'a needs b'),
      { a: 'x' },
      'invalid_combination: body: a needs b',
    ],
    [
      'a failed cross-field check with a place',
      z.object({ a: z.string() }).refine(() => false, { message: 'a needs b', path: ['b'] }),
      { a: 'x' },
      'invalid_combination: b: a needs b',
    ],
    ['too long inside a union', z.object({ tagIds }), { tagIds: 'abcdef' }, 'too_big: tagIds: '],
    ['too long inside a union’s array', z.object({ tagIds }), { tagIds: ['a', 'abcdef'] }, 'too_big: tagIds[1]: '],
    [
      'an unknown discriminator',
      z.object({ shape }),
      { shape: { kind: 'blob' } },
      'invalid_value: shape.kind: must be one of "circle", "square"',
    ],
    [
      'a bad key of a map',
      z.object({ geo: z.record(z.string().max(2), z.string()) }),
      { geo: { USA: 'x' } },
      'too_big: geo.USA: its name must have at most 2 characters',
    ],
  ])('%s', (_what, schema, value, start) => {
    const [status, message] = refusal(schema, value) ?? [];
    expect(message).toContain(start);
    expect(status).toBe(422);
  });
});

describe('query values', () => {
  const query = z.object({
    text: queryText,
    root: queryBoolean,
    limit: queryInteger({ min: 1, max: 1000, default: 100 }),
    event: queryEnum(['clicks', 'leads']),
  });

  it.each<[string, unknown, number | undefined]>([
    ['limit=abc', { limit: 'abc' }, 400],
    ['limit=', { limit: '' }, 400],
    ['limit=1.5', { limit: '1.5' }, 400],
    ['limit=0', { limit: '0' }, 422],
    ['limit=1001', { limit: '1001' }, 422],
    ['limit=5&limit=6', { limit: ['5', '6'] }, undefined],
    ['root=yes', { root: 'yes' }, 400],
    ['root=TRUE', { root: 'TRUE' }, undefined],
    ['root=', { root: '' }, undefined],
    ['event=', { event: '' }, 422],
    ['event=opens', { event: 'opens' }, 422],
    ['text=', { text: '' }, undefined],
    ['unknown=1', { unknown: '1' }, undefined],
  ])('%s answers %s', (_query, value, status) => {
    expect(refusal(query, value)?.[0]).toBe(status);
  });

  it.each([
    ['a thousand items between as many commas again', ',a'.repeat(1000) + ','.repeat(1000), undefined],
    ['a thousand and one items', ',a'.repeat(1001), 422],
    ['more characters than a list may have', 'a'.repeat(64_001), 422],
  ] as const)('a list of %s', (_what, list, status) => {
    expect(refusal(z.object({ list: queryList }), { list })?.[0]).toBe(status);
  });

  it.each(['', ',', ',,', ['', ''], [',', '']])('a list without items (%j) is absent', (list) => {
    expect([queryList.parse(list), queryJoinedValues.parse(list)]).toEqual([undefined, undefined]);
  });

  it('a number with hundreds of digits is out of range, not a wrong type', () => {
    const digits = '9'.repeat(400);
    expect(refusal(query, { limit: digits })).toEqual([422, expect.stringContaining('too_big: limit: ')]);
    expect(refusal(query, { limit: `-${digits}` })).toEqual([422, expect.stringContaining('too_small: limit: ')]);
  });
});

it('the message has only the first violation, and never the input', () => {
  const [, message] = refusal(z.object({ a: z.email(), b: z.email() }), { a: 'hunter2', b: 'hunter2' }) ?? [];
  expect(message).toBe('invalid_format: a: must be an email address');
});

it('the contract’s own schemas answer 400 for a missing field and 422 for a wrong value', () => {
  expect(refusal(trackLeadBodySchema, { eventName: 'x' })).toEqual([400, 'required: customerExternalId: is required']);
  expect(refusal(trackLeadBodySchema, { eventName: '', customerExternalId: 'x' })?.[0]).toBe(422);
  expect(refusal(createLinkBodySchema, { url: 'https://acme.com', keyLength: 3.5 })?.[0]).toBe(422);
  expect(refusal(trackSaleBodySchema, { customerExternalId: 'x', amount: 1.5 })).toEqual([
    400,
    'invalid_type: amount: must be a whole number',
  ]);
  expect(refusal(trackSaleBodySchema, { customerExternalId: 'x', amount: -1 })?.[0]).toBe(422);
  expect(refusal(trackSaleBodySchema, { customerExternalId: 'x', amount: 2 ** 60 })?.[0]).toBe(422);
  expect(refusal(eventsQuerySchema, { page: '0' })?.[0]).toBe(422);
  expect(refusal(eventsQuerySchema, { page: 'x' })?.[0]).toBe(400);
});
