import { createClaimAdmin, customerClaim } from '@waymark/event-queue';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
});
afterAll(() => ingest.stop());

it.each([
  ['lead', { eventName: 'Sign up' }],
  ['sale', { amount: 4900 }],
])(
  'a %s of a new customer whose claims Redis has lost before the commit is 500 with Retry-After, and recorded when it is sent again',
  async (what, fields) => {
    const { producer, redisClient, workspaceId } = ingest;
    const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
    const body = { ...fields, clickId, customerExternalId: `of a ${what}` };
    // Then the request holds the claim of the customer instead of relying on a mark.
    await createClaimAdmin(redisClient).blockFilters(workspaceId);
    const { commit } = producer;
    const losing = vi.spyOn(producer, 'commit').mockImplementation(async (request) => {
      await redisClient.del(`{waymark}:claim:${customerClaim(workspaceId, body.customerExternalId)}`);
      return commit(request);
    });
    try {
      const answer = await ingest.post(`/track/${what}`, body);
      expect(answer.statusCode).toBe(500);
      expect(answer.headers['retry-after']).toBe('1');
    } finally {
      losing.mockRestore();
    }
    expect((await ingest.post(`/track/${what}`, body)).statusCode).toBe(200);
  },
);
