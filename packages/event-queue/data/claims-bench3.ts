import { startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { randomBytes } from 'node:crypto';
import { TAKE_CLICKS } from '../src/claim-scripts.js';
const redis = await startRedis({ args: ['--auto-aof-rewrite-percentage', '0'] });
const r = new Redis(redis.url) as any;
const N = 100000, B = 200;
const variants: Record<string, (n: string[]) => Promise<unknown>> = {
  take: (n) => r.take(n.length + 1, '{waymark}:recorded:', ...n.map(x => '{waymark}:claim:c:' + x), 3600000, 30000, ...n.map(x => 'abcdefan5k.1f:' + x)),
  takeShort: (n) => r.take(n.length + 1, '{waymark}:recorded:', ...n.map(x => '{waymark}:' + x), 3600000, 30000, ...n.map(x => 'abcdefan5k.1f:' + x)),
  old: (n) => r.v1(n.length, ...n.map(x => '{waymark}:claim:c:' + x), 30000, ...n.map(x => 'p:' + x)),
  oldLong: (n) => r.v1(n.length, ...n.map(x => '{waymark}:claim:c:' + x), 3600000, ...n.map(x => 'abcdefan5k.1f:' + x)),
  pipe: (n) => { const p = r.pipeline(); n.forEach((x) => p.set('{waymark}:claim:c:' + x, 'abcdefan5k.1f:' + x, 'PX', 3600000, 'NX', 'GET')); return p.exec(); },
};
r.defineCommand('take', { lua: TAKE_CLICKS });
r.defineCommand('v1', { lua: `local a={} for i=1,#KEYS do if redis.call('SET',KEYS[i],ARGV[i+1],'NX','PX',ARGV[1]) then a[i]='' else a[i]=redis.call('GET',KEYS[i]) end end return a` });
const cpu = async () => { const i = await r.info('cpu'); return [Number(/used_cpu_sys:([\d.]+)/.exec(i)![1]), Number(/used_cpu_user:([\d.]+)/.exec(i)![1])]; };
const res: Record<string, string[]> = {};
for (let round = 0; round < 5; round++) for (const [name, fn] of Object.entries(variants)) {
  await r.flushall();
  const batches = Array.from({ length: N / B }, () => Array.from({ length: B }, () => randomBytes(12).toString('base64url')));
  const c0 = await cpu();
  for (const b of batches) await fn(b);
  const c1 = await cpu();
  (res[name] ??= []).push(((c1[1]! - c0[1]!) / N * 1e6).toFixed(2) + '/' + ((c1[0]! - c0[0]!) / N * 1e6).toFixed(2));
}
console.log(res);
r.disconnect(); await redis.stop();
