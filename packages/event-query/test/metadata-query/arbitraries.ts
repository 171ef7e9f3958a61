import fc from 'fast-check';
import type { MetadataCondition, MetadataKeys, MetadataQuery } from '../../src/metadata-query/metadata-query.js';
import type { Metadata } from './evaluate.js';

const pick = <T>(values: readonly T[]) => fc.constantFrom(...values);
const SPACES = ['', ' ', '  ', '\n', '\t', '\u00a0'];
const GAPS = [' ', '  ', '\n ', '\t'];

/** Whether a character is an apostrophe that needs no escape in its quotes; a reading of its own, without the regular expression of the scanner. */
function isApostrophe(text: string, index: number): boolean {
  const [before = '', after = ''] = [[...text.slice(0, index)].at(-1), [...text.slice(index + 1)][0]];
  const [word = ''] = text.slice(index + 1).split(/[\s()]/, 1);
  const [first = '', second = ''] = word.split("'", 2);
  const isConnector = ['AND', 'and', 'OR', 'or'].includes(first) && (word === first || /^[\p{L}\p{N}]/u.test(second));
  return text[index] === "'" && /[\p{L}\p{M}\p{N}]/u.test(before) && /[\p{L}\p{N}]/u.test(after) && !isConnector;
}

/** Quotes a text. With `escapesAll`, escapes more than necessary; otherwise leaves a backslash that is no escape as it is. */
function quoted(text: string, quote: string, escapesAll: boolean): string {
  const inner = text.replace(/["'`\\]/g, (unit, index: number) => {
    if (!escapesAll && quote === "'" && isApostrophe(text, index)) return unit;
    if (escapesAll || unit === quote) return `\\${unit}`;
    return unit === '\\' && /^(?:["'`\\]|$)/.test(text.slice(index + 1)) ? '\\\\' : unit;
  });
  return quote + inner + quote;
}

const quotedTexts = (text: string) =>
  fc.tuple(pick(["'", '"', '`']), fc.boolean()).map(([quote, escapesAll]) => quoted(text, quote, escapesAll));

/** Whether a value can be written without quotes. */
function isBare(text: string): boolean {
  const isPlain = /^[^\s()[\]'"`*:=!<>~][^\s()[\]]*( [^\s()[\]]+)*$/.test(text);
  return isPlain && !/(?:^| )(?:and|or|AND|OR)(?: |$)/.test(text);
}

const valueTexts = (text: string) =>
  isBare(text) ? fc.oneof(fc.constant(text), quotedTexts(text)) : quotedTexts(text);

const pathTexts = (keys: MetadataKeys) =>
  fc
    .tuple(pick(SPACES), ...keys.map((key) => quotedTexts(key)))
    .map(([space, ...texts]) => `metadata${texts.map((text) => `${space}[${space}${text}${space}]`).join('')}`);

const conditionTexts = (condition: MetadataCondition, isNegated = false): fc.Arbitrary<string> => {
  const operators = condition.type === 'compares' ? [condition.operator] : isNegated ? ['!='] : [':', '='];
  const values: fc.Arbitrary<string> =
    condition.type === 'exists'
      ? fc.constant('*')
      : valueTexts(condition.type === 'equals' ? condition.text : String(condition.number));
  return fc
    .tuple(pathTexts(condition.keys), pick(SPACES), pick(operators), pick(SPACES), values)
    .map((parts) => parts.join(''));
};

const wrapped = (texts: fc.Arbitrary<string>) =>
  fc.tuple(texts, pick(SPACES)).map(([text, space]) => `(${space}${text}${space})`);

const eitherCase = (word: string) => pick([word, word.toLowerCase()]);

/** Different ways to write a query: with optional white space, quotes, parentheses and operators. */
export function queryTexts(query: MetadataQuery): fc.Arbitrary<string> {
  switch (query.type) {
    case 'not': {
      const { of } = query;
      const isGroup = of.type === 'and' || of.type === 'or';
      const negated = isGroup ? wrapped(queryTexts(of)) : queryTexts(of);
      const long = fc.tuple(eitherCase('NOT'), pick(GAPS), negated).map((parts) => parts.join(''));
      return of.type === 'equals' || of.type === 'exists' ? fc.oneof(long, conditionTexts(of, true)) : long;
    }
    case 'and':
    case 'or': {
      const parts = query.of.map((part) => {
        const needsParentheses = part.type === 'or' || part.type === query.type;
        return needsParentheses ? wrapped(queryTexts(part)) : queryTexts(part);
      });
      const connector = fc
        .tuple(pick(GAPS), eitherCase(query.type.toUpperCase()), pick(GAPS))
        .map((all) => all.join(''));
      return fc.tuple(connector, ...parts).map(([word, ...texts]) => texts.join(word));
    }
    default:
      return fc.oneof({ weight: 4, arbitrary: conditionTexts(query) }, wrapped(conditionTexts(query)));
  }
}

/** Queries over the given paths, values and numbers, a few levels deep. */
function queriesOver(
  keys: fc.Arbitrary<MetadataKeys>,
  texts: fc.Arbitrary<string>,
  numbers: fc.Arbitrary<number>,
): fc.Arbitrary<MetadataQuery> {
  const conditions: fc.Arbitrary<MetadataCondition> = fc.oneof(
    fc.record({ type: fc.constant('equals' as const), keys, text: texts }),
    fc.record({ type: fc.constant('exists' as const), keys }),
    fc.record({
      type: fc.constant('compares' as const),
      keys,
      operator: pick(['>', '>=', '<', '<='] as const),
      number: numbers,
    }),
  );
  return fc.letrec<{ query: MetadataQuery; group: MetadataQuery }>((tie) => ({
    query: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { weight: 3, arbitrary: conditions },
      { weight: 1, arbitrary: tie('query').map((of) => ({ type: 'not' as const, of })) },
      { weight: 2, arbitrary: tie('group') },
    ),
    group: fc
      .tuple(pick(['and', 'or'] as const), tie('query'), tie('query'), fc.array(tie('query'), { maxLength: 1 }))
      .map(([type, first, second, rest]) => ({ type, of: [first, second, ...rest] as const })),
  })).query;
}

const NASTY = [
  "it's",
  "5'or b",
  '"',
  '`',
  '\\',
  'a\0b',
  '{p0:String}',
  '/* x */',
  "' OR 1=1 --",
  '😀',
  'ß\u0301',
  'new\nline',
  '%',
];
/** `a` and `b` occur often, so that queries match. */
const KEYS = [...Array.from({ length: 5 }, () => ['a', 'b']).flat(), 'a.b', 'a=b', 'a\\.b', '', '0', ...NASTY];
const WORDS = ['pro', 'Pro', '', 'null', 'true', 'a=b', 'rock and roll', 'or', '*', '-', ...NASTY];
/** Numbers as text, and texts that other parsers would accept as numbers. */
const NUMERIC = [
  ...['25', '25.0', '025', '+25', '-25', '.5', '5.', '1e3', '1E+3', '1e-3', '9007199254740993', '0.30000000000000004'],
  ...[
    ' 25',
    '25 ',
    '1e',
    'e1',
    '.',
    '-',
    '0x19',
    '1_000',
    '1,5',
    'nan',
    'NaN',
    'inf',
    'Infinity',
    '-inf',
    '1e999',
    '٢٥',
  ],
];
const NUMBERS = [25, 25.5, -25, 0, 0.1, 0.30000000000000004, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 1000];

const scalars = fc.oneof(
  {
    weight: 3,
    arbitrary: pick<string | number | boolean | null>([...WORDS, ...NUMERIC, ...NUMBERS, true, false, null]),
  },
  { weight: 3, arbitrary: pick<string | number | boolean | null>(['pro', 25, '25', true, null, '']) },
  fc.string({ unit: 'binary', maxLength: 5 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

const inner = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    { weight: 3, arbitrary: scalars },
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(pick(KEYS), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;

/** Metadata with the paths and values that {@link metadataQueries} use. */
export const metadata: fc.Arbitrary<Metadata> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(null) },
  {
    weight: 9,
    arbitrary: fc.dictionary(pick(KEYS), inner, { maxKeys: 4, noNullPrototype: true }) as fc.Arbitrary<Metadata>,
  },
);

const queriedKeys: fc.Arbitrary<MetadataKeys> = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(pick(KEYS)) },
  { weight: 2, arbitrary: fc.tuple(pick(KEYS), pick(KEYS)) },
  { weight: 1, arbitrary: fc.tuple(pick(KEYS), pick(KEYS), pick(KEYS)) },
);

const FREQUENT = ['pro', '25', 'true', 'null', ''];
const queriedNumbers = pick([...NUMBERS, 24.999, 0.3, 9007199254740992, -1e308, Number.NaN]);
const queriedTexts = fc.oneof(pick(FREQUENT), pick([...WORDS, ...NUMERIC, ...NUMBERS.map(String)]));

export const metadataQueries = queriesOver(queriedKeys, queriedTexts, queriedNumbers);

/** Queries with arbitrary keys, values and numbers. */
export const anyQueries = queriesOver(
  fc
    .array(fc.string({ unit: 'binary', maxLength: 8 }), { minLength: 1, maxLength: 3 })
    .map((keys) => keys as unknown as MetadataKeys),
  fc.oneof(fc.string({ unit: 'binary', maxLength: 12 }), pick(WORDS)),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number)),
);
