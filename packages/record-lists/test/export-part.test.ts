import { createResourceId } from '@waymark/contract';
import { expect, it } from 'vitest';
import { slicesOfRecords } from '../src/export-part.js';

it('the file of a job has the links of the millisecond in which the job was created, and no later ones', async () => {
  const createdMs = Date.UTC(2026, 10, 21, 14, 30);
  const records = [-1, 0, 1].map((afterMs) => ({ id: createResourceId('link', createdMs + afterMs) }));
  const readFirst = async () => records;
  const objectsOf = async (some: readonly object[]) => some;
  const source = slicesOfRecords(
    { kind: 'link', startId: undefined, readFirst, readAfter: async () => [], objectsOf },
    { createdUntilMs: createdMs },
  );
  const items: string[] = [];
  for await (const slice of source) items.push(...slice.items);
  expect(items.map((item) => JSON.parse(item))).toEqual(records.slice(0, 2));
});
