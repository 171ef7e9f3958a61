// GET /events and GET /analytics compared with a baseline that stands for how such systems are built today, on the same engine and data,
// measured alternately. `npm run bench -- query [--clicks 30000000] [--small 3000000] [--data DIR] [--only events,…] [--rested]`.
// Existing data is reused, and stays rested.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startClickHouse, startRedis } from '@waymark/test-kit';
import { machineLine } from './lib/report.js';
import { generateWorld, letRest, type World } from './query/dataset/generate.js';
import { sizesFor, type WorldSizes } from './query/dataset/world.js';
import { measure, PARTS } from './query/measure.js';

const { values } = parseArgs({
  options: {
    clicks: { type: 'string', default: '30000000' },
    /** A second, smaller data set, to measure growth. */
    small: { type: 'string', default: '3000000' },
    seed: { type: 'string', default: '1' },
    data: { type: 'string', default: join(tmpdir(), 'waymark-bench') },
    only: { type: 'string', default: PARTS.join(',') },
    /** First lets both layouts come to rest, as they do when nothing is inserted for days. */
    rested: { type: 'boolean', default: false },
    /** Another built checkout, whose first requests (`--only first`) are measured in turn with those of this one. */
    other: { type: 'string' },
    /** Of `--only first`, the pages whose names begin so, such as `100 clicks`. */
    pages: { type: 'string', default: '' },
    /** Of `--only first`, how often each process is started. */
    samples: { type: 'string', default: '6' },
  },
});

const dataDir = values.data;
const other = values.other === undefined ? undefined : resolve(values.other);
mkdirSync(dataDir, { recursive: true });
const start = performance.now();
const progress = (line: string) =>
  console.error(`${((performance.now() - start) / 1000).toFixed(0).padStart(6)} s  ${line}`);

function worldFile({ clicks, seed }: WorldSizes): string {
  return join(dataDir, `world-${clicks}-${seed}.json`);
}

const redis = await startRedis();
const clickhouse = await startClickHouse({ dataDir: join(dataDir, 'clickhouse') });

/** The data set of an earlier run, or a new one. */
async function provide(sizes: WorldSizes): Promise<World> {
  const file = worldFile(sizes);
  if (existsSync(file)) {
    const text = readFileSync(file, 'utf8');
    return JSON.parse(text, (name, value) => (name === 'id' ? BigInt(value) : value)) as World;
  }
  const world = await generateWorld({ clickhouseUrl: clickhouse.url, redisUrl: redis.url, sizes, progress });
  writeFileSync(
    file,
    JSON.stringify(world, (_name, value) => (typeof value === 'bigint' ? String(value) : value)),
  );
  return world;
}

try {
  const seed = Number(values.seed);
  const big = await provide(sizesFor(Number(values.clicks), seed));
  const small = await provide(sizesFor(Number(values.small), seed));
  if (values.rested) {
    for (const world of [big, small]) await letRest(clickhouse.url, world, progress);
  }
  console.log(`\n${machineLine()}\n`);
  await measure(
    {
      big,
      small,
      clickhouseUrl: clickhouse.url,
      clickhousePid: clickhouse.pid,
      redisUrl: redis.url,
      redisPid: redis.pid,
      other,
      firstPages: values.pages,
      samples: Number(values.samples),
      progress,
    },
    PARTS.filter((part) => values.only.split(',').includes(part)),
  );
} finally {
  await clickhouse.stop();
  await redis.stop();
}
