import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTwoApis, type TwoApis } from './two-apis.js';
import { ALL_ACTIONS, type Step, WrittenWorld } from './written-world.js';

/** Every read that starts after a successful response shows the write, through the process that answered and through the other one. */

const STEPS = 100;
/** On a slow machine fewer steps are run. */
const STEPS_MS_MAX = 30_000;
/** Longer than a read takes: a write that does not wait for the other processes' acknowledgement fails the test. */
const INVALIDATION_DELAY_MS = 25;
let two: TwoApis;

beforeAll(async () => {
  two = await startTwoApis({ invalidationDelayMs: INVALIDATION_DELAY_MS });
}, 180_000);
afterAll(() => two.close());

const step: fc.Arbitrary<Step> = fc.record({
  action: fc.constantFrom(...ALL_ACTIONS),
  process: fc.constantFrom(0, 1),
  pick: fc.nat(11),
});

it('every read shows all earlier writes, in a random sequence of writes through two processes', {
  timeout: 180_000,
}, async () => {
  const world = new WrittenWorld(two);
  // Shrinking is disabled: the steps build on the data of earlier ones, and the stores are not created again for each run.
  const sequence = fc.array(step, { minLength: STEPS, maxLength: STEPS, size: 'max' });
  const settings = { numRuns: 1, endOnFailure: true } as const;
  await fc.assert(
    fc.asyncProperty(sequence, async (steps) => {
      const untilMs = performance.now() + STEPS_MS_MAX;
      for (const one of steps) if (performance.now() < untilMs) await world.take(one);
    }),
    settings,
  );
});

it('a revoked key is rejected at once by a process that has just accepted it', async () => {
  const [first, second] = two.apis;
  for (let round = 0; round < 5; round++) {
    const issued = await two.withCatalog(({ keys }) =>
      keys.create({ workspaceId: two.workspaceId, name: 'Key', kind: 'secret', role: 'owner', scopes: [] }),
    );
    for (const api of [first, second])
      expect((await api.call('GET', '/tags', undefined, issued.token)).status).toBe(200);
    await two.withCatalog(({ keys }) => keys.revoke(two.workspaceId, issued.record.id));
    for (const api of [second, first])
      expect((await api.call('GET', '/tags', undefined, issued.token)).status).toBe(401);
  }
});
