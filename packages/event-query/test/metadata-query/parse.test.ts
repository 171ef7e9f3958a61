import { ApiError } from '@waymark/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MetadataKeys, MetadataQuery } from '../../src/metadata-query/metadata-query.js';
import { parseMetadataQuery } from '../../src/metadata-query/parser.js';
import { anyQueries, queryTexts } from './arbitraries.js';

const equals = (keys: string | MetadataKeys, text: string): MetadataQuery => ({
  type: 'equals',
  keys: typeof keys === 'string' ? [keys] : keys,
  text,
});
const exists = (key: string): MetadataQuery => ({ type: 'exists', keys: [key] });
const not = (of: MetadataQuery): MetadataQuery => ({ type: 'not', of });
const and = (...of: [MetadataQuery, MetadataQuery, ...MetadataQuery[]]): MetadataQuery => ({ type: 'and', of });
const or = (...of: [MetadataQuery, MetadataQuery, ...MetadataQuery[]]): MetadataQuery => ({ type: 'or', of });
const compares = (operator: '>' | '>=' | '<' | '<=', number: number): MetadataQuery => {
  return { type: 'compares', keys: ['n'], operator, number };
};

const [a, b, c] = [equals('a', '1'), equals('b', '2'), equals('c', '3')];
const [A, B, C] = ["metadata['a']:1", "metadata['b']:2", "metadata['c']:3"];

describe('a query is parsed:', () => {
  test.each<[string, MetadataQuery]>([
    ["metadata['plan']:'pro'", equals('plan', 'pro')],
    ['metadata["plan"]="pro"', equals('plan', 'pro')],
    ['metadata[`plan`] : `pro`', equals('plan', 'pro')],
    ["  metadata [ 'plan' ]\n:\t'pro'  ", equals('plan', 'pro')],
    ["metadata['plan']!='pro'", not(equals('plan', 'pro'))],
    ["metadata['a']['b']['0']:x", equals(['a', 'b', '0'], 'x')],
    ["metadata['']:''", equals('', '')],
    ["metadata['a.b=c d]']:x", equals('a.b=c d]', 'x')],
    ["metadata['ключ 😀']:'значение'", equals('ключ 😀', 'значение')],
    ["metadata['a']:*", exists('a')],
    ["metadata['a'] != *", not(exists('a'))],
    ["metadata['a']:'*'", equals('a', '*')],
    ["metadata['n']>5", compares('>', 5)],
    ["metadata['n'] >= '-2.5e-3'", compares('>=', -0.0025)],
    ["metadata['n']<+.5", compares('<', 0.5)],
    ["metadata['n']<=5.", compares('<=', 5)],
    // Comparing with a text that is no number matches nothing.
    ["metadata['n']>abc", compares('>', Number.NaN)],
    ["metadata['n'] < '1_000'", compares('<', Number.NaN)],
    ["metadata['n']>*", compares('>', Number.NaN)],
  ])('%s', (text, query) => {
    expect(parseMetadataQuery(text)).toEqual(query);
  });

  test.each<[string, string]>([
    [String.raw`'it\'s'`, "it's"],
    ["'O'Reilly'", "O'Reilly"],
    ["'ça n'est pas l'été'", "ça n'est pas l'été"],
    ["'5'11'", "5'11"],
    ["'l'or'", "l'or"],
    ["'e\u0301't d'orange o'Or'", "e\u0301't d'orange o'Or"],
    [String.raw`"say \"x\""`, 'say "x"'],
    ['`a\\`b`', 'a`b'],
    [String.raw`'\"\`\/'`, '"`\\/'],
    [String.raw`'a\\'`, 'a\\'],
    [String.raw`'C:\temp\new\u00e9'`, String.raw`C:\temp\new\u00e9`],
    [String.raw`'^\d+\\d$'`, String.raw`^\d+\d$`],
    [`'x" AND y'`, 'x" AND y'],
    ["'raw\n\0newline'", 'raw\n\0newline'],
  ])('the quoted value %s is %j', (text, value) => {
    expect(parseMetadataQuery(`metadata['a']:${text}`)).toEqual(equals('a', value));
  });

  test.each<[string, string]>([
    ['pro plan', 'pro plan'],
    ['two  spaces ', 'two  spaces'],
    ['https://acme.com/a?b=c&d=12:30', 'https://acme.com/a?b=c&d=12:30'],
    ['-5', '-5'],
    ['C:\\temp', 'C:\\temp'],
    ['sandy andorra orange', 'sandy andorra orange'],
    ['not', 'not'],
    ["O'Brien", "O'Brien"],
    ['5 "inches"', '5 "inches"'],
    ['5*', '5*'],
    ['**', '**'],
    ['hello (world) (again)', 'hello (world) (again)'],
    ['f(x(y))', 'f(x(y))'],
    ['(x)', '(x)'],
    ['salt And pepper', 'salt And pepper'],
    ['more or-else', 'more or-else'],
    ['😀', '😀'],
  ])('the bare value %s extends to the end of the condition', (text, value) => {
    expect(parseMetadataQuery(`metadata['a']:${text}`)).toEqual(equals('a', value));
    expect(parseMetadataQuery(`( metadata['a']:${text})`)).toEqual(equals('a', value));
    expect(parseMetadataQuery(`metadata['a']: ${text} and ${B}`)).toEqual(and(equals('a', value), b));
  });

  test.each(['OR', 'and', 'or-else', 'Or'])('%s after the operator is a value', (text) => {
    expect(parseMetadataQuery(`metadata['a']:${text}`)).toEqual(equals('a', text));
    expect(parseMetadataQuery(`metadata['a']=${text} AND ${B}`)).toEqual(and(equals('a', text), b));
  });

  test.each<[string, MetadataQuery]>([
    [`${A} AND ${B}`, and(a, b)],
    [`${A} or ${B} OR ${C}`, or(a, b, c)],
    [`${A} OR ${B} AND ${C}`, or(a, and(b, c))],
    [`${A} AND ${B} OR ${C}`, or(and(a, b), c)],
    [`(${A} OR ${B}) AND ${C}`, and(or(a, b), c)],
    [`${A} AND(${B})`, and(a, b)],
    ["metadata['a']:'1'AND metadata['b']:'2'", and(a, b)],
    ["metadata['a']:'1'or(metadata['b']:'2'and metadata['c']:'3')", or(a, and(b, c))],
    ["metadata['a']:'D'Arcy' AND metadata['b']:'2'", and(equals('a', "D'Arcy"), b)],
    [`NOT ${A}`, not(a)],
    [`NOT ${A} AND ${B}`, and(not(a), b)],
    [`not(${A} AND ${B})`, not(and(a, b))],
    [`NOT NOT ${A}`, not(not(a))],
    [`((${A}))`, a],
    [`(${A} AND ${B}) AND ${C}`, and(and(a, b), c)],
  ])('%s: NOT before AND before OR', (text, query) => {
    expect(parseMetadataQuery(text)).toEqual(query);
  });
});

describe('a malformed query is refused with the position and what was expected:', () => {
  const VALUE = 'a value or \\*';
  const OPERATOR = '\\[ or one of : = != > >= < <=';
  const CONDITION = "metadata\\['…'\\], NOT or \\(";
  test.each<[string, number, string]>([
    [' ', 2, CONDITION],
    ['plan:pro', 1, CONDITION],
    ["Metadata['a']:1", 1, CONDITION],
    ['metadata', 9, '\\['],
    ['metadata.plan:pro', 9, '\\['],
    ['metadata[plan]:pro', 10, 'a key in quotes'],
    ["metadata['plan:pro", 10, "' to close the text that begins here"],
    ["metadata['plan'", 16, '\\]'],
    ["metadata['a']", 14, OPERATOR],
    ["metadata['a']=='x'", 14, OPERATOR],
    ["metadata['a']=:'x'", 14, OPERATOR],
    ["metadata['a']>>1", 14, OPERATOR],
    ["metadata['a']<>1", 14, OPERATOR],
    ["metadata['a']!'x'", 14, OPERATOR],
    ["metadata['a'] ~ 'x'", 15, OPERATOR],
    ["metadata['a'] 'x'", 15, OPERATOR],
    ["metadata['a']:", 15, VALUE],
    ["metadata['a']: =x", 16, VALUE],
    [`metadata['a']: AND ${B}`, 16, VALUE],
    ["metadata['a']:)", 15, VALUE],
    ["metadata['a']>", 15, 'a value'],
    ["metadata['a']>1e999", 15, 'a number of at most 1.8e308'],
    ["metadata['a']:* x", 17, 'AND, OR or the end'],
    ["metadata['a']:x [y]", 17, 'AND, OR or the end'],
    ["metadata['a']:x (y))", 20, 'AND, OR or the end'],
    ["(metadata['a']:x (y)", 21, 'AND, OR or \\)'],
    [`${A} And ${B}`, 29, 'AND, OR or the end'],
    [`metadata['a']:'1' And ${B}`, 19, 'AND, OR or the end'],
    // Only a quote within a word may be an apostrophe: others would take the rest of the query into the value.
    ["metadata['a']:'James' shop'", 23, 'AND, OR or the end'],
    ["metadata['a']:'x'y AND metadata['b']:'z'", 34, 'AND, OR or the end'],
    ["metadata['a']:'x'-y'", 18, 'AND, OR or the end'],
    ["metadata['a']:'rock'and roll'", 25, CONDITION],
    ["metadata['a']:'x'or", 20, CONDITION],
    // Two quoted texts without the white space that a connector needs, which are not one text.
    ["metadata['a']:'pro'OR'team'", 20, 'AND, OR or the end'],
    ["metadata['a']:'x'and'y' OR metadata['b']:1", 18, 'AND, OR or the end'],
    ['metadata["a"]:"x"y"', 18, 'AND, OR or the end'],
    ["metadata['a']:'x' 'y'", 19, 'AND, OR or the end'],
    [`metadata['a']:'x' ${B}`, 19, 'AND, OR or the end'],
    [`metadata['a']:x ${B}`, 25, 'AND, OR or the end'],
    [`${A})`, 16, 'AND, OR or the end'],
    [`(${A}`, 17, 'AND, OR or \\)'],
    [`${A} AND`, 20, CONDITION],
    [`${A} AND AND ${B}`, 21, CONDITION],
    [`AND ${A}`, 1, CONDITION],
    ["metadata['a']:Rock and Roll", 24, CONDITION],
    ['()', 2, CONDITION],
    [`(${A} AND)`, 21, CONDITION],
    [String.raw`metadata['a']:'x\'`, 15, "' to close the text that begins here"],
    ["metadata['a']:'x\\", 15, "' to close the text that begins here"],
    // Positions count characters; an emoji is one character, but two UTF-16 code units.
    ["metadata['😀😀']:'😀' x", 20, 'AND, OR or the end'],
  ])('%s', (text, position, expected) => {
    expect(() => parseMetadataQuery(text)).toThrow(
      expect.objectContaining({
        code: 'unprocessable_entity',
        message: expect.stringMatching(
          new RegExp(`^invalid_format: query: at character ${position}: expected ${expected}$`),
        ),
      }),
    );
  });

  test('at most 20 levels and 50 conditions are accepted', () => {
    const nested = (levels: number) => `${'('.repeat(levels)}${A}${')'.repeat(levels)}`;
    expect(parseMetadataQuery(nested(20))).toEqual(a);
    expect(() => parseMetadataQuery(nested(21))).toThrow('at character 22');
    expect(() => parseMetadataQuery(`${'NOT '.repeat(21)}${A}`)).toThrow('at character 84');
    const many = (count: number) => Array.from({ length: count }, () => A).join(' OR ');
    expect(parseMetadataQuery(many(50))).toMatchObject({ type: 'or' });
    expect(() => parseMetadataQuery(many(51))).toThrow('too_big: query: ');
  });
});

test('any query can be written, and parses to the same query', () => {
  const written = anyQueries.chain((query) => queryTexts(query).map((text) => ({ query, text })));
  fc.assert(
    fc.property(written, ({ query, text }) => {
      expect(parseMetadataQuery(text)).toEqual(query);
    }),
    { numRuns: 2000 },
  );
});

const pieces = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      ...'metadata|[|]|(|)|\'|"|`|\\|:|=|!=|>|<|*| |and|OR|NOT|x|5|\\u00'.split('|'),
      A,
      B,
      '😀',
    ),
  },
  fc.string({ unit: 'binary', maxLength: 3 }),
);

test('any text is a query, or an error with a position in the text or at its end', () => {
  const texts = fc.oneof(
    fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join('')),
    fc.string({ unit: 'binary', maxLength: 200 }),
  );
  fc.assert(
    fc.property(texts, (text) => {
      try {
        expect(parseMetadataQuery(text)).toHaveProperty('type');
      } catch (err) {
        expect(err).toBeInstanceOf(ApiError);
        const [, position = ''] =
          /^invalid_format: query: at character (\d+): expected ./.exec(String((err as Error).message)) ?? [];
        expect(Number(position)).toBeGreaterThanOrEqual(1);
        expect(Number(position)).toBeLessThanOrEqual([...text].length + 1);
      }
    }),
    { numRuns: 5000 },
  );
});

test.each([
  ...["'", '(', ' ', '\\', 'NOT ', "metadata['a']", "['a']", '😀', '*', 'x ', 'and ', 'metadata'].map((text) => text),
  ...["metadata['a']:'", "metadata['a']:", "metadata['", "metadata['a']:x ", "(metadata['a']:1) AND ", 'NOT('].map(
    (text) => text,
  ),
])('ten thousand characters of %j are parsed in linear time', (piece) => {
  const text = piece.repeat(Math.ceil(10_000 / piece.length)).slice(0, 10_000);
  const texts = [
    text,
    `metadata['a']:${text}`,
    `metadata['a']:'${text}`,
    `metadata['${text}']:1`,
    `metadata['a']:x${text}y`,
  ];
  const before = process.cpuUsage();
  for (const each of texts) {
    try {
      parseMetadataQuery(each);
    } catch (err) {
      expect(err).toBeInstanceOf(ApiError);
    }
  }
  expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
});
