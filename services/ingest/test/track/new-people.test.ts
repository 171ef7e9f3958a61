import { parseResourceId } from '@waymark/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

const BEHIND_MS = 8 * 60_000;

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest({ now: () => Date.now() - BEHIND_MS });
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
