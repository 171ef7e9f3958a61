import { createCatalog } from '@waymark/catalog';
import type { ExportEndData } from '@waymark/contract';
import { queueDepths } from '@waymark/event-queue';
import { createTestDatabase, startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { createJobNotifier, createWebhookNotifier } from '../../src/index.js';

it('a change, and the end of a job, is delivered through the queue shard of its workspace', async () => {
  const [database, first, second] = await Promise.all([
    createTestDatabase(),
    startRedis({ args: [] }),
    startRedis({ args: [] }),
  ]);
  const queueShards = [first, second].map(({ url }) => new Redis(url));
  const [redis, other] = queueShards as [Redis, Redis];
  const logger = { debug: () => undefined, warn: () => undefined, error: () => undefined };
  const catalog = createCatalog({
    ...{ redis, queueShards: [other], clickhouse: database.client, instanceKey: Buffer.alloc(32, 1) },
    ...{ now: Date.now, logger, baseUrl: 'https://api.example.com' },
  });
  const notifier = createWebhookNotifier({ catalog, queueShards, logger, now: Date.now });
  const jobNotifier = createJobNotifier({ catalog, queueShards, logger });
  onTestFinished(async () => {
    notifier.close();
    jobNotifier.close();
    await catalog.close();
    for (const connection of queueShards) connection.disconnect();
    await Promise.all([database.drop(), first.stop(), second.stop()]);
  });
  const webhook = {
    name: 'Links',
    url: 'https://hooks.example/',
    triggers: ['link.created', 'export.completed'] as const,
  };
  for (const queueShard of [0, 1]) {
    const slug = `shard-${queueShard}`;
    const domain = `${slug}.acme.example`;
    const { workspace } = await catalog.workspaces.create({ name: slug, slug, plan: 'enterprise', domain, queueShard });
    await catalog.webhooks.create(workspace.id, { ...webhook, triggers: [...webhook.triggers] });
    const link = await catalog.links.create(workspace.id, { domain, key: 'try', url: 'https://acme.example' });
    for (let count = 0; count <= queueShard; count++) await notifier.linkChanged('link.created', link);
    const data = {} as ExportEndData;
    await jobNotifier.ended({ workspaceId: workspace.id, event: 'export.completed', key: slug, endedMs: 0, data });
  }
  const waiting = await Promise.all(queueShards.map(async (queue) => (await queueDepths(queue)).webhook.waiting));
  expect(waiting).toEqual([2, 3]);
});
