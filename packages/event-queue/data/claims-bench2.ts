import { randomBytes } from 'node:crypto';
import { startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';

const lua = (chars: number) => `
local a = {}
local names, ids, cur, prev, ttl = ARGV[1], ARGV[2], KEYS[1], KEYS[2], ARGV[3]
for i = 0, #names / 16 - 1 do
  local b = string.sub(names, i*16+1, i*16+${chars})
  local f = string.sub(names, i*16+${chars + 1}, i*16+16)
  local held = redis.call('HGET', prev .. b, f)
  if held and string.sub(held, 1, 16) > ARGV[4] then a[#a+1] = i a[#a+1] = held
  else
    local k = cur .. b
    local v = string.sub(ids, i*16+1, i*16+16) .. ARGV[5]
    local n = redis.call('HSETNX', k, f, v)
    if n == 0 then a[#a+1] = i a[#a+1] = redis.call('HGET', k, f)
    elseif redis.call('HLEN', k) == 1 then redis.call('PEXPIRE', k, ttl) end
  end
end
return a`;
for (const chars of [2, 3])
  for (const N of [300000, 2000000]) {
    const redis = await startRedis({ args: ['--auto-aof-rewrite-percentage', '0'] });
    const r = new Redis(redis.url) as any;
    r.defineCommand('v', { lua: lua(chars), numberOfKeys: 2 });
    const B = 200;
    const cpu = async () => {
      const i = await r.info('cpu');
      return [Number(/used_cpu_sys:([\d.]+)/.exec(i)![1]), Number(/used_cpu_user:([\d.]+)/.exec(i)![1])];
    };
    const c0 = await cpu();
    for (let i = 0; i < N / B; i++) {
      const b = Array.from({ length: B }, () => randomBytes(12).toString('base64url')).join('');
      await r.v('{waymark}:c:123456:', '{waymark}:c:123455:', b, b, 7200000, '0', ':abcd1234');
    }
    const c1 = await cpu();
    const mem = /used_memory:(\d+)/.exec(await r.info('memory'))![1];
    console.log(
      chars,
      N,
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
