import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { leastOf } from '@waymark/test-kit';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { describe, expect, test } from 'vitest';
import type { NamedColumn } from '../src/columns.js';
import { createParquetEncoder } from '../src/encoders/parquet.js';
import { createParquetFile, type SchemaElement } from '../src/encoders/parquet-file.js';

const SCHEMA: readonly SchemaElement[] = [
  { name: 'root', num_children: 3 },
  { name: 'text', repetition_type: 'OPTIONAL', type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  { name: 'count', repetition_type: 'OPTIONAL', type: 'INT64' },
  { name: 'tags', repetition_type: 'OPTIONAL', converted_type: 'LIST', num_children: 1 },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', repetition_type: 'REQUIRED', type: 'BYTE_ARRAY', converted_type: 'UTF8' },
];

/** The columns of the nth row group. */
function groupOf(n: number) {
  const rows = Array.from({ length: 1 + (n % 7) }, (_, row) => row);
  return [
    { name: 'text', data: rows.map((row) => (row === 3 ? null : `${'é'.repeat(n % 20)} ${n}/${row}`)) },
    { name: 'count', data: rows.map((row) => BigInt(n * 1000 + row)) },
    { name: 'tags', data: rows.map((row) => Array.from({ length: row }, (_, tag) => `tag ${tag}`)) },
  ];
}

/** The file as the library writes it, which keeps all row groups to its end. */
function asLibrary(groups: number): Buffer {
  const writer = new ByteWriter();
  const file = new ParquetWriter({ writer, schema: [...SCHEMA], createdBy: 'waymark' });
  for (let n = 0; n < groups; n += 1)
    file.write({ columnData: groupOf(n), rowGroupSize: groupOf(n)[0]?.data.length ?? 0 });
  file.finish();
  return Buffer.from(writer.getBytes());
}

// The list of row groups has a header of one byte up to 14, and of two and three beyond.
test.each([1, 2, 14, 15, 127, 128, 300])('a file of %d row groups has the bytes that the library writes', (groups) => {
  const file = createParquetFile([...SCHEMA]);
  const parts: Uint8Array[] = [];
  for (let n = 0; n < groups; n += 1) {
    file.writeGroup(groupOf(n));
    parts.push(file.takeBytes());
  }
  const bytes = Buffer.concat([...parts, ...file.end()]);
  expect(bytes.equals(asLibrary(groups))).toBe(true);
});

describe('a file of thousands of row groups', () => {
  interface Item {
    readonly text: string;
    readonly n: number;
  }
  const columns: readonly NamedColumn<Item>[] = [
    ...Array.from(
      { length: 10 },
      (_, index): NamedColumn<Item> => ({ name: `text${index}`, type: 'text', read: ({ text }) => text }),
    ),
    { name: 'n', type: 'integer', read: ({ n }) => n },
  ];
  /** An encoder that has written so many row groups, of one row each. */
  function written(groups: number) {
    const encoder = createParquetEncoder(columns, 1);
    for (let n = 0; n < groups; n += 1) encoder.encode([JSON.stringify({ text: `${n} ${'x'.repeat(2000)}`, n })]);
    return encoder;
  }

  test('takes little memory for each', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = () => {
      // The first collection finds the buffers that are not used any more, the second counts them.
      collect();
      collect();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    written(10);
    const before = used();
    const encoder = written(1000);
    const perGroup = (used() - before) / 1000;
    // The texts alone would be 2 kB.
    expect(perGroup).toBeLessThan(2000);
    expect([...encoder.end()].length).toBeGreaterThan(10);
  });

  test('ends in many small steps', { timeout: 240_000 }, async () => {
    const longestStep = async () => {
      const encoder = written(1500);
      const steps: { readonly bytes: number; readonly cpuMs: number }[] = [];
      let start = process.cpuUsage();
      for (const { length: bytes } of encoder.end()) {
        const { user, system } = process.cpuUsage(start);
        steps.push({ bytes, cpuMs: (user + system) / 1000 });
        start = process.cpuUsage();
      }
      expect(steps.reduce((sum, { bytes }) => sum + bytes, 0)).toBeGreaterThan(750_000);
      expect(Math.max(...steps.map(({ bytes }) => bytes))).toBeLessThan(100_000);
      return Math.max(...steps.map(({ cpuMs }) => cpuMs));
    };
    // In one step, all of them would take a second. A step may include a garbage collection, also of garbage of other tests.
    expect(await leastOf(100, longestStep, 3)).toBeLessThanOrEqual(100);
  });
});
