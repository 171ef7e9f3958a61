import { randomBytes } from 'node:crypto';
import { startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';

const variants: Record<string, (r: any, names: string[], ids: string[]) => Promise<unknown>> = {
  luaSetNx: (r, n, i) => r.v1(n.length, ...n.map((x) => '{waymark}:claim:' + x), 30000, ...i.map((x) => 'p:' + x)),
  luaShortKey: (r, n, i) => r.v1(n.length, ...n.map((x) => '{waymark}:' + x), 30000, ...i.map((x) => 'p:' + x)),
  luaPacked: (r, n, i) => r.v2(1, '{waymark}:', 30000, n.join(''), i.join(''), n.length),
  luaPackedNoCount: (r, n, i) => r.v3(1, '{waymark}:', 30000, n.join(''), i.join(''), n.length),
  pipelined: (r, n, i) => {
    const p = r.pipeline();
    n.forEach((x, k) => p.set('{waymark}:' + x, 'p:' + i[k], 'PX', 30000, 'NX', 'GET'));
    return p.exec();
  },
  hashes: (r, n, i) => r.v4(1, '{waymark}:', 30000, n.join(''), i.join(''), n.length),
};
for (const [name, fn] of Object.entries(variants)) {
  const redis = await startRedis({
    args: process.env.NOAOF ? ['--appendonly', 'no'] : ['--auto-aof-rewrite-percentage', '0'],
  });
  const r = new Redis(redis.url) as any;
  r.defineCommand('v1', {
    lua: `local a={} for i=1,#KEYS do if redis.call('SET',KEYS[i],ARGV[i+1],'NX','PX',ARGV[1]) then a[i]='' else a[i]=redis.call('GET',KEYS[i]) end end return a`,
  });
  r.defineCommand('v2', {
    lua: `local a={} local n,ids,p=ARGV[2],ARGV[3],KEYS[1] for i=0,ARGV[4]-1 do local k=p..string.sub(n,i*16+1,i*16+16) if redis.call('SET',k,'p:'..string.sub(ids,i*16+1,i*16+16),'NX','PX',ARGV[1]) then a[i+1]='' else a[i+1]=redis.call('GET',k) end end return a`,
  });
  r.defineCommand('v3', {
    lua: `local a={} local n,ids,p=ARGV[2],ARGV[3],KEYS[1] for i=0,ARGV[4]-1 do local k=p..string.sub(n,i*16+1,i*16+16) if redis.call('SET',k,string.sub(ids,i*16+1,i*16+16),'NX','PX',ARGV[1]) then else a[#a+1]=i+1 a[#a+1]=redis.call('GET',k) end end return a`,
  });
  // buckets: hash field without expiry
  r.defineCommand('v4', {
    lua: `local a={} local n,ids,p=ARGV[2],ARGV[3],KEYS[1] for i=0,ARGV[4]-1 do local k=p..string.sub(n,i*16+1,i*16+3) local f=string.sub(n,i*16+4,i*16+16) if redis.call('HSETNX',k,f,string.sub(ids,i*16+1,i*16+16))==0 then a[#a+1]=i+1 a[#a+1]=redis.call('HGET',k,f) end end return a`,
  });
  const N = 300000,
    B = 200;
  const cpu = async () => {
    const i = await r.info('cpu');
    return [Number(/used_cpu_sys:([\d.]+)/.exec(i)![1]), Number(/used_cpu_user:([\d.]+)/.exec(i)![1])];
  };
  const batches = Array.from({ length: N / B }, () =>
    Array.from({ length: B }, () => randomBytes(12).toString('base64url')),
  );
  const c0 = await cpu();
  for (const b of batches) await fn(r, b, b);
  const c1 = await cpu();
  const mem = /used_memory:(\d+)/.exec(await r.info('memory'))![1];
  console.log(
    name,
    'user',
    (((c1[1]! - c0[1]!) / N) * 1e6).toFixed(2),
    'sys',
    (((c1[0]! - c0[0]!) / N) * 1e6).toFixed(2),
    'B/claim',
    Math.round((Number(mem) - 1e6) / N),
  );
  r.disconnect();
  await redis.stop();
}
