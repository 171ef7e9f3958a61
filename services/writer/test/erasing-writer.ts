import { createCatalog } from '@waymark/catalog';
import { createClickHouseClient } from '@waymark/clickhouse';
import { loadSettings } from '@waymark/config';
import { createLogger } from '@waymark/http-kit';
import { Redis } from 'ioredis';
import { lateRowsOf, startErasures } from '../src/index.js';

/** A writer that only carries out erasures. Kills itself after the number of writes to ClickHouse in its argument; without one it ends. */

let writesLeft = Number(process.argv[2] ?? Number.POSITIVE_INFINITY);

/** Counts calls that have ended. */
function counted<Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) {
  return async (...args: Args): Promise<Result> => {
    const result = await call(...args);
    writesLeft -= 1;
    if (writesLeft === 0) process.kill(process.pid, 'SIGKILL');
    return result;
  };
}

const settings = loadSettings();
const client = createClickHouseClient({ url: settings.clickhouseUrl ?? '', database: settings.clickhouseDatabase });
const clickhouse = Object.assign(Object.create(client) as typeof client, {
  command: counted(client.command.bind(client)),
  insert: counted(client.insert.bind(client)),
  exec: counted(client.exec.bind(client)),
});
const redis = new Redis(settings.redisUrl ?? '');
const logger = createLogger({ name: 'test', level: 'silent' });
const instanceKey = Buffer.alloc(32, 7);
const baseUrl = 'https://api.example.com';
const catalog = createCatalog({ redis, clickhouse, instanceKey, now: Date.now, logger, baseUrl });
const erasures = startErasures({
  ...{ catalog, redis, clickhouse, logger, lateRows: lateRowsOf(catalog), queueShards: [redis], cluster: undefined },
  ...{ gatherMs: 0, settleMs: 0, intervalMs: 2 ** 30 },
});
await erasures.run();
process.send?.('done');
process.disconnect();
await erasures.close();
await catalog.close();
redis.disconnect();
await client.close();
