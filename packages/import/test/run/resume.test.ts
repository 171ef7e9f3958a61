import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ImportCounts, type ImportPosition, NO_COUNTS } from '../../src/index.js';
import { startImports, type TestImport } from './test-import.js';

let imports: TestImport;
beforeAll(async () => {
  imports = await startImports();
});
afterAll(() => imports.close());

const row = (index: number) => `https://a.test/${index},k${index}`;
/** Three and a half batches; the row 300 has the address of the row 299, and row 310 is none. */
const ROWS = Array.from({ length: 350 }, (_, index) => (index === 310 ? 'no url,x' : row(index === 300 ? 299 : index)));
const table = `url,key\n${ROWS.join('\n')}\n`;
const EXPECTED = { rows: 350, created: 348, updated: 0, skipped: 1, rejected: 1 };

/** Runs the import until the given batch has its links, but is not on record yet. @returns the position of the last one that is */
async function interrupted(acme: Parameters<TestImport['table']>[0], batch: number): Promise<ImportPosition> {
  const begin = { row: 0, counts: NO_COUNTS, atMs: Date.now() };
  const positions: ImportPosition[] = [begin];
  const progress = (counts: ImportCounts, lastRow: number) => {
    if (positions.length === batch) throw new Error('killed');
    positions.push({ row: lastRow, counts, atMs: Date.now() });
  };
  const ignore = async () => undefined;
  const report = { rejected: ignore, lost: ignore, progress };
  await expect(imports.table(acme, table, { report })).rejects.toThrow('killed');
  return positions.at(-1) ?? begin;
}

it.each([1, 3])('an import that was killed after batch %i counts as if it had not been', async (batch) => {
  const acme = await imports.workspace();
  const position = await interrupted(acme, batch);
  expect(position.counts.created).toBe((batch - 1) * 100);
  expect(await imports.table(acme, table, { position })).toMatchObject(EXPECTED);
  // From the start, every link is there already.
  expect(await imports.table(acme, table)).toMatchObject({ created: 0, skipped: 349, rejected: 1 });
});

it('changes of a killed import count as changes, and links that it skipped as skipped', async () => {
  const acme = await imports.workspace();
  await imports.table(acme, `url,key\nhttps://other.test,k1\n${row(2)}\n`);
  const position = { row: 0, counts: NO_COUNTS, atMs: Date.now() + 1 };
  const rows = `url,key\n${row(1)}\n${row(2)}\n${row(3)}\n`;
  await expect.poll(() => Date.now()).toBeGreaterThan(position.atMs);
  expect(await imports.table(acme, rows, { onConflict: 'update' })).toMatchObject({
    updated: 1,
    skipped: 1,
    created: 1,
  });
  const again = await imports.table(acme, rows, { onConflict: 'update', position });
  expect(again).toMatchObject({ updated: 1, skipped: 1, created: 1 });
});

it('few links make a batch when their records are long, so that an import holds little at a time', async () => {
  const acme = await imports.workspace();
  const long = 'x'.repeat(900_000);
  const rows = Array.from({ length: 10 }, (_, index) => `${row(index)},${long}`);
  const positions: number[] = [];
  const ignore = async () => undefined;
  const progress = (_counts: ImportCounts, lastRow: number) => void positions.push(lastRow);
  await imports.table(acme, `url,key,remark\n${rows.join('\n')}\n`, {
    report: { rejected: ignore, lost: ignore, progress },
  });
  expect(positions).toEqual([10, 11]);
});
