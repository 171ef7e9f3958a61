import { startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { createJobAdder } from '../src/job-adder.js';
import { createJobId } from '../src/job-id.js';
const redis = await startRedis({ args: ['--auto-aof-rewrite-percentage', '0'] });
const r = new Redis(redis.url) as any;
r.defineCommand('trivial', { lua: `return 1`, numberOfKeys: 1 });
r.defineCommand('hset1', { lua: `return redis.call('HMSET', KEYS[1], 'data', ARGV[1])`, numberOfKeys: 1 });
const adder = createJobAdder(r);
const data = 'x'.repeat(160_000);
const cpu = async () => { const i = await r.info('cpu'); return [Number(/used_cpu_sys:([\d.]+)/.exec(i)![1]), Number(/used_cpu_user:([\d.]+)/.exec(i)![1])]; };
const N = 400;
const variants: Record<string, (i: number) => Promise<unknown>> = {
  trivial: (i) => r.trivial('k', data),
  hset1: (i) => r.hset1('h' + i, data),
  hsetPlain: (i) => r.hset('p' + i, 'data', data),
  add: async (i) => { const m = await adder.transaction(); await adder.add(m, { kind: 'click', jobId: createJobId(), data }); return m.exec(); },
};
for (let round = 0; round < 3; round++) for (const [name, fn] of Object.entries(variants)) {
  await r.flushall(); await r.config('RESETSTAT');
  const c0 = await cpu();
  for (let i = 0; i < N; i++) await fn(i);
  const c1 = await cpu();
  console.log(name, 'user us/job', ((c1[1]! - c0[1]!) / N * 1e6).toFixed(0), 'sys', ((c1[0]! - c0[0]!) / N * 1e6).toFixed(0), (await r.info('commandstats')).split('\n').filter((l: string) => /evalsha|exec|hset|hmset/.test(l)).map((l: string) => l.replace(/,rejected.*/, '')).join(' '));
}
r.disconnect(); await redis.stop();
