import { createCatalog } from '@waymark/catalog';
import { createClickHouseClient } from '@waymark/clickhouse';
import { Redis } from 'ioredis';

/** A process that creates the same link many times concurrently; argv: Redis, ClickHouse, database, workspace, domain, times. */
const [redisUrl = '', clickhouseUrl = '', database = '', workspaceId = '', domain = '', times = '0'] =
  process.argv.slice(2);
const redis = new Redis(redisUrl);
const clickhouse = createClickHouseClient({ url: clickhouseUrl, database });
const catalog = createCatalog({
  redis,
  clickhouse,
  instanceKey: Buffer.alloc(32, 7),
  now: Date.now,
  logger: { warn: (_context, message) => console.error(message) },
  baseUrl: 'https://api.example.com',
});
const create = (index: number) =>
  catalog.links.create(workspaceId, { domain, key: 'race', url: `https://acme.com/${process.pid}/${index}` });
// Both processes start at a message of their parent.
process.once('message', async () => {
  const settled = await Promise.allSettled(Array.from({ length: Number(times) }, (_, index) => create(index)));
  const outcomes = settled.map((outcome) => (outcome.status === 'fulfilled' ? 'created' : outcome.reason.code));
  await catalog.close();
  redis.disconnect();
  await clickhouse.close();
  process.send?.(outcomes, () => process.disconnect());
});
process.send?.('ready');
