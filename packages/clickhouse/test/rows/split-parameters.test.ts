import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { splitParameters } from '../../src/rows/split-parameters.js';

const VALUE_BYTES_MAX = 131_072;
const ROWS = 100_000;

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  await db.client.command({
    query:
      'CREATE TABLE numbered (id UInt64, name String) ENGINE = MergeTree ORDER BY id SETTINGS index_granularity = 64',
  });
  await db.client.command({
    query: `INSERT INTO numbered SELECT number, concat('\\'', toString(number), 'ж') FROM numbers(${ROWS})`,
  });
});
afterAll(() => db.drop());

const ids = Array.from({ length: 20_000 }, (_none, index) => BigInt(2 * index));
const names = ids.map((id) => `'${id}ж`);

describe('a list that is longer than a value in a URL may be', () => {
  it.each([
    ['numbers', 'id IN {values:Array(UInt64)}', ids],
    ['texts', 'name IN {values:Array(String)}', names],
    ['an array', 'has({values:Array(String)}, name) AND id < 3 OR id IN arraySlice({ids:Array(UInt64)}, 3)', names],
  ])('arrives whole: %s', async (_what, condition, values) => {
    const query = `SELECT count(), sum(id) FROM numbered WHERE ${condition}`;
    const expected = [String(ids.length), String(ids.reduce((sum, id) => sum + id, 0n))];
    expect(await db.client.rows({ query, parameters: { values, ids } })).toEqual([expected]);
    const official = await db.client.query({ query, query_params: { values, ids }, format: 'JSONCompactEachRow' });
    expect(await official.json()).toEqual([expected]);
  });

  it('is found by the key of the table', async () => {
    const explain = async (values: readonly bigint[]) => {
      const query = 'EXPLAIN indexes = 1 SELECT name FROM numbered WHERE id IN {values:Array(UInt64)}';
      const rows = await db.client.query({ query, query_params: { values }, format: 'TabSeparatedRaw' });
      return /Granules: (\d+)\/(\d+)/
        .exec(await rows.text())
        ?.slice(1)
        .map(Number);
    };
    const [read, all] = (await explain(ids)) ?? [];
    expect(all).toBeGreaterThan(1500);
    expect(read).toBeLessThan(630);
  });

  it('selects the rows of a mutation', async () => {
    await db.client.command({
      query: `ALTER TABLE numbered DELETE WHERE id IN {ids:Array(UInt64)}
        AND (id, name) IN arrayZip({ids:Array(UInt64)}, {names:Array(String)})`,
      query_params: { ids, names },
      clickhouse_settings: { mutations_sync: '2', max_query_size: '16000000' },
    });
    const left = await db.client.rows({ query: 'SELECT count(), min(id % 2) FROM numbered WHERE id < 39998' });
    expect(left).toEqual([['19999', 1]]);
  });
});

it('a text that is longer than a value in a URL may be arrives whole', async () => {
  const text = `${"'".repeat(30_000)}${'😀'.repeat(20_001)}`;
  const rows = await db.client.rows({
    query: 'SELECT {text:String} = {text:String}, {text:String}',
    parameters: { text },
  });
  expect(rows).toEqual([[1, text]]);
});

it('each part of a divided list fits, and together they are the list', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constant("'".repeat(2_000)), fc.constant('水'.repeat(1_000)));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 100 }), (list) => {
      const divided = splitParameters({
        query: 'SELECT {list:Array(String)}, {other:String}',
        parameters: { list, other: 'a' },
      });
      const lists = Object.entries(divided.parameters).filter(([name]) => name !== 'other');
      expect(lists.flatMap(([, values]) => values)).toEqual(list);
      for (const [name, values] of lists) {
        const quoted = (values as string[]).map(
          (one) => `'${one.replaceAll(/[\\']/g, '\\$&').replaceAll(/[\t\n\r]/g, '\\n')}'`,
        );
        expect(new URLSearchParams([['', `[${quoted}]`]]).toString().length - 1).toBeLessThanOrEqual(VALUE_BYTES_MAX);
        expect(divided.query).toContain(`{${name}:Array(String)}`);
      }
      expect(divided.query).toContain('{other:String}');
    }),
    { numRuns: 60 },
  );
});
