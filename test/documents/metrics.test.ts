import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const rooms = ['packages', 'services'].flatMap((folder) =>
  readdirSync(folder).map((room) => join(folder, room, 'src')),
);
/** The metrics that the code registers: every text that has the form of their names. */
const inCode = rooms
  .filter((room) => !room.startsWith('packages/test-kit'))
  .flatMap((room) => readdirSync(room, { recursive: true, encoding: 'utf8' }).map((file) => join(room, file)))
  .filter((file) => file.endsWith('.ts'))
  .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/['"`](waymark_[a-z_]+)['"`]/g)])
  .map(([, name = '']) => name)
  .sort();
/** The metrics in the first cells of the table of docs/operations.md. */
const inTable = readFileSync('docs/operations.md', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `waymark_'))
  .flatMap((line) => [...(line.split(' | ')[0] ?? '').matchAll(/`(waymark_[a-z_]+)`/g)])
  .map(([, name = '']) => name)
  .sort();

test('the table of docs/operations.md has every metric of the code once, and no other', () => {
  expect(inCode.length).toBeGreaterThan(30);
  expect(inTable).toEqual(inCode);
});
