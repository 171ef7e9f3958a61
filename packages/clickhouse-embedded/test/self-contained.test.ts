import { describe, expect, test } from 'vitest';
import { selfContained } from '../src/engine/self-contained.js';
import type { Statement } from '../src/engine/statement.js';

const ID = '018f4d7e-0000-7000-8000-0123456789ab';

function textOf(
  sql: string,
  parameters: Record<string, string> = {},
  more: Partial<Statement> = {},
): string | undefined {
  const statement: Statement = {
    ...{ sql, data: Buffer.alloc(0), database: undefined, format: 'TabSeparated' },
    settings: new Map(),
    parameters: new Map(Object.entries(parameters)),
    ...more,
  };
  return selfContained(statement, ID)?.replace(`\nSETTINGS query_cache_tag = '${ID}'`, '');
}

describe('a read with its format', () => {
  test('has its settings in a clause, quoted, and the id by which it is killed', () => {
    const settings = new Map([
      ['max_threads', '2'],
      ['log_comment', "it's \\"],
      ['readonly', '2'],
    ]);
    const text = textOf('SELECT 1\nFORMAT TSV', {}, { settings });
    expect(text).toBe(
      `SELECT 1\nFORMAT TSV\nSETTINGS max_threads = '2', log_comment = 'it\\'s \\\\', query_cache_tag = '${ID}'`,
    );
  });

  test.each([
    ['{p:UInt64}', '18446744073709551615', "_CAST(18446744073709551615, 'UInt64')"],
    ['{ p : Int64 }', '-9223372036854775808', "_CAST(-9223372036854775808, 'Int64')"],
    ['{p:String}', "a\\'b\\\\\\n\\0😀", " 'a\\'b\\\\\n\\0😀'"],
    ['{p:Array(UInt64)}', '[1,2]', "_CAST([1,2], 'Array(UInt64)')"],
    ['{p:Array(UInt64)}', '[]', "_CAST([], 'Array(UInt64)')"],
    ['{p:Array(String)}', "['a','b\\'']", "_CAST(['a','b\\''], 'Array(String)')"],
    ['{p:Date}', '2026-11-21', "_CAST('2026-11-21', 'Date')"],
    [
      "{p:DateTime64(3, 'UTC')}",
      '2026-11-21 08:00:00.000',
      "_CAST('2026-11-21 08:00:00.000', 'DateTime64(3, \\'UTC\\')')",
    ],
  ])('has %s as a literal: %s', (placeholder, value, literal) => {
    expect(textOf(`SELECT ${placeholder} FORMAT TSV`, { p: value })).toBe(`SELECT ${literal} FORMAT TSV`);
  });

  test.each([
    ["SELECT '{p:UInt64}', '\\'{p:UInt64}', '''{p:UInt64}' FORMAT TSV"],
    ['SELECT `{p:UInt64}`, "{p:UInt64}" FROM t FORMAT TSV'],
    ['SELECT 1 -- {p:UInt64}\nFORMAT TSV'],
    ["SELECT {'p':1} FORMAT TSV"],
  ])('keeps what only looks like a parameter: %s', (sql) => {
    expect(textOf(sql, { p: '7' })).toBe(sql);
  });
});

describe('a connection of its own is used for', () => {
  test.each([
    ['a statement without a format', 'SELECT 1'],
    ['a second format', 'SELECT 1 AS n FORMAT CSV UNION ALL SELECT 2 FORMAT TSV'],
    ['several statements', 'SELECT 1; SELECT 2 FORMAT TSV'],
    ['a heredoc', 'SELECT $a$ {p:UInt64} $a$ FORMAT TSV'],
    ['a comment that may contain anything', "SELECT 1 /* ' */ FORMAT TSV"],
    ['a quote that is not closed', "SELECT 'a FORMAT TSV"],
    ['a quoted name that is not closed', 'SELECT `a FORMAT TSV'],
    ['a file as target', "SELECT 1 INTO OUTFILE 'a' FORMAT TSV"],
    ['an insert after its subqueries', 'WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x FORMAT TSV'],
    ['a write that runs beside a read', 'SELECT 1 PARALLEL WITH DROP TABLE t FORMAT TSV'],
    ['a setting by a parameter', 'SELECT 1 SETTINGS max_threads = {p:UInt64} FORMAT TSV'],
    ['the setting that allows writes', 'SELECT 1 SETTINGS readonly = 0 FORMAT TSV'],
    ['typographic quotes', 'SELECT ‘{p:String}’ FORMAT TSV'],
    ['a long text', `SELECT ${'1,'.repeat(50_000)}1 FORMAT TSV`],
    ['another statement', 'SHOW TABLES FORMAT TSV'],
    ['a parameter without a value', 'SELECT {missing:String} FORMAT TSV'],
  ])('%s', (_, sql) => {
    expect(textOf(sql, { p: '7' })).toBeUndefined();
  });

  test('data after the statement', () => {
    expect(textOf('SELECT 1 FORMAT TSV', {}, { data: Buffer.from('1') })).toBeUndefined();
  });

  test.each([
    ['readonly', '1'],
    ['readonly', 'abc'],
    ['max_parser_depth', '10000'],
  ])('the setting %s = %s', (name, value) => {
    expect(textOf('SELECT 1 FORMAT TSV', {}, { settings: new Map([[name, value]]) })).toBeUndefined();
  });

  test('a parameter that is long, or that would make the text long', () => {
    expect(textOf('SELECT {p:String} FORMAT TSV', { p: 'a'.repeat(100_000) })).toBeUndefined();
    expect(textOf('SELECT {p:String}, {p:String} FORMAT TSV', { p: 'a'.repeat(50_000) })).toBeUndefined();
  });

  test.each([
    ['UInt64', '18446744073709551616'],
    ['UInt8', '256'],
    ['UInt64', '-1'],
    ['Int64', '9223372036854775808'],
    ['UInt64', '1) OR (1'],
    ['UInt64', '007'],
    ['Array(UInt64)', '[1,-2]'],
    ['Array(UInt64)', '[1] OR [2]'],
    ['Array(String)', "['a','b]"],
    ['Array(String)', "['a'] OR ['b']"],
    ['Array(String)', "['a\\']"],
    ['Array(Array(String))', "[['a']]"],
    ['String', 'a\\x41'],
    ['String', 'a\\'],
    ['String', 'a\tb'],
    ['String', 'a\nb'],
    ['Date', "2026-11-21'"],
    ['Date', '2026-02-30'],
    ["DateTime('UTC')", '2026-02-30 00:00:00'],
    ["DateTime('UTC')", '2026-02-28 24:00:00'],
    ["DateTime64(3, 'UTC')", '0000-00-00 00:00:00.000'],
    ["DateTime64(3, 'UTC')", '2299-01-01 00:00:00.000'],
    ['Nullable(String)', 'a'],
    ['Identifier', 't'],
  ])('a parameter of type %s with the value %s', (type, value) => {
    expect(textOf(`SELECT {p:${type}} FORMAT TSV`, { p: value })).toBeUndefined();
  });
});
