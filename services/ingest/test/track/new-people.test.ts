import { parseResourceId } from '@waymark/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

const BEHIND_MS = 8 * 60_000;

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest({ now: () => Date.now() - BEHIND_MS });
  ingest.startWriter();
});
afterAll(() => ingest.stop());

it.each([
  ['a lead', '/track/lead', { eventName: 'Sign up' }, ['cus_00000000001', 'cus_00000000002']],
  ['a direct sale', '/track/sale', { amount: 2900 }, ['cus_00000000003', 'cus_00000000004']],
])(
  'the customer of %s after an erasure of its external id is a new person, although the clock is behind',
  async (_what, path, body, former) => {
    const { catalog, workspaceId } = ingest;
    const customerExternalId = `erased ${path}`;
    const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
    // Twice, as of a person who was erased, came back and was erased again.
    for (const id of former)
      await catalog.erasures.accept(workspaceId, { externalId: customerExternalId, customerIds: [id] }, 'delete');
    expect((await ingest.post(path, { ...body, clickId, customerExternalId })).statusCode).toBe(200);
    const { id } = await ingest.customer(customerExternalId);
    const people = await catalog.erasures.people.current();
    const numbers = [parseResourceId('workspace', workspaceId) ?? '', parseResourceId('customer', id) ?? ''] as const;
    expect(people).toBeDefined();
    expect(people?.erasureOf(...numbers, customerExternalId)).toBeUndefined();
  },
);

it('a lead and a direct sale of new customers are recorded while ClickHouse does not answer which people are erased', async () => {
  const { clickhouse } = ingest;
  const { rows } = clickhouse;
  const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  clickhouse.rows = (async (read: Parameters<typeof rows>[0]) => {
    if (read.query.includes('FROM erasures ')) await answered;
    return rows(read);
  }) as typeof rows;
  try {
    // The copy of the process is outdated.
    ingest.catalog.erasures.people.onGap();
    const post = (path: string, body: object) => ingest.post(path, { ...body, clickId, customerExternalId: path });
    const answers = await Promise.all([
      post('/track/lead', { eventName: 'Sign up' }),
      post('/track/sale', { amount: 2900 }),
    ]);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
  } finally {
    answer();
    clickhouse.rows = rows;
  }
});
