import { describe, expect, it } from 'vitest';
import { parseRedisAddress, redisSocketUrl } from '../src/index.js';

const credentials = { username: undefined, password: undefined, usesTls: false };

describe('the URL of a Redis', () => {
  it('of one server is left to ioredis', () => {
    const url = 'rediss://user:secret@cache:6379/2';
    expect(parseRedisAddress(url)).toEqual({ kind: 'server', url });
  });

  it('of a server on a unix socket has its path', () => {
    expect(parseRedisAddress('redis+unix:///run/redis.sock')).toEqual({
      ...{ kind: 'socket', path: '/run/redis.sock', database: 0, username: undefined, password: undefined },
    });
    expect(parseRedisAddress('redis+unix://us%40er:p%2Fw@localhost/a%20b/50%25.sock?db=3')).toEqual({
      ...{ kind: 'socket', path: '/a b/50%.sock', database: 3, username: 'us@er', password: 'p/w' },
    });
    for (const path of ['/run/redis.sock', '/a b/50% of #1?.sock', '/ä/%2F/;'])
      expect(parseRedisAddress(redisSocketUrl(path, 'p@:/w'))).toMatchObject({ path, password: 'p@:/w' });
  });

  it('of Sentinels lists them, with the name of the master and the credentials of the server', () => {
    expect(parseRedisAddress('redis+sentinel://a,b:26380,[::1]:5/waymark')).toEqual({
      kind: 'sentinel',
      sentinels: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 26_380 },
        { host: '::1', port: 5 },
      ],
      master: 'waymark',
      database: 0,
      sentinelUsername: undefined,
      sentinelPassword: undefined,
      ...credentials,
    });
    const all = 'rediss+sentinel://us%40er:p%2Fw@a/my%20name/3?sentinelUsername=s&sentinelPassword=%40a+b%2B';
    expect(parseRedisAddress(all)).toMatchObject({
      ...{ master: 'my name', database: 3, username: 'us@er', password: 'p/w', usesTls: true },
      ...{ sentinelUsername: 's', sentinelPassword: '@a+b+' },
    });
  });

  it('of a cluster lists nodes', () => {
    expect(parseRedisAddress('redis+cluster://:secret@a:7000,b')).toEqual({
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 6379 },
      ],
      ...credentials,
      password: 'secret',
    });
  });

  it.each([
    ['', 'form'],
    ['cache:6379', 'form'],
    ['http://cache', 'form'],
    ['redis+sentinel://a,,b/name', 'form'],
    ['redis+sentinel://a:b/name', 'form'],
    ['redis+cluster://a:70000', 'form'],
    ['redis+cluster://%zz:hunter2@a', 'begins no escape'],
    ['redis://:hunter2%@cache', 'begins no escape'],
    ['rediss://%zz:hunter2@cache', 'begins no escape'],
    ['redis+unix:///run/50%.sock', 'begins no escape'],
    ['redis+unix:///run/a%00.sock', 'with a NUL'],
    ['redis+cluster://a:hunter2:b', 'form'],
    ['redis+sentinel://a,b', "master's name"],
    ['redis+sentinel://a,b/', "master's name"],
    ['redis+sentinel://a/name/x', "master's name"],
    ['redis+sentinel://a/name?password=hunter2', 'unknown parameter'],
    ['redis+sentinel://a/name?sentinelPassword=hunter2%', 'begins no escape'],
    ['redis+cluster://a/1', 'no database'],
    ['redis+unix://', 'form'],
    ['redis+unix://localhost/', 'form'],
    ['redis+unix://:hunter2@/run/redis.sock', 'form'],
    ['redis+unix://cache/run/redis.sock', 'form'],
    ['redis+unix://localhost:6379/run/redis.sock', 'form'],
    ['redis+unix:///run/redis.sock#hunter2', 'form'],
    ['redis+unix:///run/redis.sock?db=hunter2', 'number'],
    ['redis+unix:///run/redis.sock?password=hunter2', 'unknown parameter'],
    [`redis+unix:///${'a'.repeat(107)}`, 'more than 107 bytes'],
  ])('%s is refused, without its value in the message', (url, rule) => {
    expect(() => parseRedisAddress(url)).toThrow(rule);
    expect(() => parseRedisAddress(url)).not.toThrow('hunter2');
  });

  it('is parsed in linear time', () => {
    for (const part of [':', '@', ',', '/', 'a:1,', '[']) {
      const startedMs = performance.now();
      expect(() => parseRedisAddress(`redis+sentinel://${part.repeat(100_000)}`)).toThrow();
      expect(() => parseRedisAddress(`redis+unix://${part.repeat(100_000)}`)).toThrow();
      expect(performance.now() - startedMs).toBeLessThan(1_000);
    }
  });
});
