import { rmSync } from 'node:fs';
import { createEventId } from '@waymark/contract';
import { clickClaim, createEventProducer } from '@waymark/event-queue';
import { aClick, startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';

const redis = await startRedis({ args: ['--auto-aof-rewrite-percentage', '0'] });
const logger = { debug() {}, info: console.log, warn: console.log, error: console.log };
rmSync('/tmp/eq/spool', { recursive: true, force: true });
const p = createEventProducer({
  redisUrl: redis.url,
  spoolDirectory: '/tmp/eq/spool',
  logger,
  batchesInFlightMax: Number(process.env.INFLIGHT ?? 4),
});
const admin = new Redis(redis.url);
await new Promise((r) => setTimeout(r, 200));
const rate = Number(process.env.RATE ?? 0);
const conc = Number(process.env.CONC ?? 100);
const total = Number(process.env.N ?? 50000);
const cpu = async () => {
  const i = await admin.info('cpu');
  return [Number(/used_cpu_sys:([\d.]+)/.exec(i)![1]), Number(/used_cpu_user:([\d.]+)/.exec(i)![1])] as const;
};
let n = 0;
const lat: number[] = [];
let rec = 0;
async function one() {
  const t = performance.now();
  const ms = Date.now();
  const id = createEventId(ms);
  const r = await p.recordClick({
    claim: clickClaim('link_1', 'visitor' + id),
    clickId: id,
    row: aClick({
      clickId: id,
      timestampMs: ms,
      userAgent:
        'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36',
    }),
  });
  if (r.recorded) rec++;
  lat.push(performance.now() - t);
}
const run = async () => {
  const c0 = await cpu();
  const u0 = process.cpuUsage();
  const t0 = performance.now();
  if (rate) {
    const promises = [];
    for (let i = 0; i < total; i++) {
      const due = t0 + (i * 1000) / rate;
      const w = due - performance.now();
      if (w > 1) await new Promise((r) => setTimeout(r, w));
      promises.push(one());
    }
    await Promise.all(promises);
  } else
    await Promise.all(
      Array.from({ length: conc }, async () => {
        while (n++ < total) await one();
      }),
    );
  const t = performance.now() - t0;
  const c1 = await cpu();
  const u1 = process.cpuUsage(u0);
  lat.sort((a, b) => a - b);
  const jobs = await admin.llen('{waymark}:click:wait');
  console.log({
    perSec: Math.round((lat.length / t) * 1000),
    rec,
    redisSys: (((c1[0] - c0[0]) * 1e6) / lat.length).toFixed(2),
    redisUser: (((c1[1] - c0[1]) * 1e6) / lat.length).toFixed(2),
    nodeUsPerClick: ((u1.user + u1.system) / lat.length).toFixed(2),
    p50: lat[lat.length >> 1]!.toFixed(2),
    p99: lat[Math.floor(lat.length * 0.99)]!.toFixed(2),
    jobs,
    perJob: (rec / jobs).toFixed(1),
  });
};
await run();
console.log(
  (await admin.info('commandstats'))
    .split('\n')
    .filter((l) => /evalsha|eval:|set:|exec|hmset|xadd|info/.test(l))
    .map((l) => l.replace(',rejected_calls=0,failed_calls=0', '').trim())
    .join('\n'),
);
await p.close();
admin.disconnect();
await redis.stop();
