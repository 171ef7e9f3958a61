import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEventBodies } from '../../src/events/event-bodies.js';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

let fixture: WebhookFixture;
beforeAll(async () => {
  fixture = await startWebhookFixture();
});
afterAll(() => fixture.stop());

it('a job does not hold the bodies of its events, each of which has the whole link', async () => {
  const link = await fixture.aLink({
    image: `data:image/png;base64,${'A'.repeat(99_000)}`,
    comments: '漢'.repeat(30_000),
  });
  const hook = await fixture.aHook('https://hook.example/', { triggers: ['link.clicked'], linkScope: 'workspace' });
  const rows = await Promise.all(Array.from({ length: 100 }, () => fixture.click(link)));
  const bodies = createEventBodies({ catalog: fixture.catalog, clickhouse: fixture.database.client });
  const read = () =>
    bodies.read(
      hook,
      'link.clicked',
      rows.map((row) => String(row[2])),
    );
  await waitFor(async () => (await read()).events.length === rows.length, { what: 'the clicks' });
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const { events } = await read();
  collectGarbage();
  const held = process.memoryUsage().heapUsed - before;
  expect(events.map(({ body }) => body.length > 129_000 && JSON.parse(body).data.link.id)).toEqual(
    rows.map(() => link.id),
  );
  // The bodies have 13 million characters together.
  expect(held).toBeLessThan(5_000_000);
});
