import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { originForm, readShortAddress } from '../../src/redirect/address/short-address.js';

describe('short address', () => {
  it.each([
    ['go.acme.com', 'go.acme.com'],
    ['GO.Acme.COM:3001', 'go.acme.com'],
    ['www.acme.com', 'acme.com'],
    ['WWW.acme.com.', 'acme.com'],
    ['localhost:3001', 'localhost'],
    ['[::1]:3001', '[::1]'],
    ['[::1]', '[::1]'],
    ['', ''],
    ['x'.repeat(300), ''],
    ['go.acme.com/x', ''],
    ['go.acme.com\\x', ''],
    ['go acme.com', ''],
    ['user@go.acme.com', ''],
    ['caf\u00e9.com', ''],
    [undefined, ''],
  ])('host %s is domain %s', (host, domain) => {
    expect(readShortAddress(host, '/x').domain).toBe(domain);
  });

  it('has both the raw and the decoded path', () => {
    expect(readShortAddress('h', '/Caf%c3%A9/?a#b')).toMatchObject({ path: 'Café/', rawPath: 'Caf%c3%A9/' });
    expect(readShortAddress(...originForm('h', 'http://other.com/a%20b?c')).rawPath).toBe('a%20b');
  });

  it('keeps the port for domains that are registered with one', () => {
    expect(readShortAddress('www.Go.Test:3001', '/x')).toMatchObject({ domain: 'go.test', host: 'go.test:3001' });
    expect(readShortAddress('go.test', '/x').host).toBe('go.test');
  });

  it.each([
    ['/try', 'try', ''],
    ['/Try', 'try', ''],
    ['/', '_root', ''],
    ['/?a=1', '_root', 'a=1'],
    ['', '_root', ''],
    ['/a/b/c', 'a/b/c', ''],
    ['/a/b/?x=1&y', 'a/b', 'x=1&y'],
    ['/a%2Fb', 'a/b', ''],
    ['//a', 'a', ''],
    ['/caf%C3%A9', 'xn--caf-dma', ''],
    ['/a#b?c', 'a', ''],
    ['/a?b#c', 'a', 'b'],
    ['/a?b?c', 'a', 'b?c'],
    ['http://other.com/a?b', 'a', 'b'],
    ['HTTPS://other.com', '_root', ''],
    ['ftp://other.com/a', 'ftp://other.com/a', ''],
  ])('target %s is key %s with query "%s"', (target, key, query) => {
    expect(readShortAddress(...originForm('h', target))).toMatchObject({ key, query });
  });

  it('prefers the host of an absolute target to the Host header', () => {
    expect(readShortAddress(...originForm('first.com', 'http://WWW.Second.com:80/a'))).toMatchObject({
      domain: 'second.com',
      host: 'second.com:80',
      key: 'a',
    });
    expect(readShortAddress(...originForm('first.com', 'http://user@second.com/a')).domain).toBe('');
  });

  it('leaves a path that cannot be decoded unchanged', () => {
    expect(readShortAddress('h', '/100%')).toMatchObject({ path: '100%', key: '100%' });
    expect(readShortAddress('h', '/%zz%41').path).toBe('%zz%41');
    expect(readShortAddress('h', '/%ff').path).toBe('%ff');
  });

  it('has no key for a path that cannot be a key', () => {
    expect(readShortAddress('h', '/a%00b').key).toBeUndefined();
    expect(readShortAddress('h', '/%0a').key).toBeUndefined();
    expect(readShortAddress('h', `/${'x'.repeat(1025)}`).key).toBeUndefined();
  });

  it('never throws, and every key is normalised', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), fc.webPath(), (host, path) => {
        for (const target of [path, `/${host}`, host]) {
          const { domain, key } = readShortAddress(host, target);
          expect(domain).toBe(domain.toLowerCase());
          if (key !== undefined) expect(readShortAddress('h', `/${encodeURIComponent(key)}`).key).toBe(key);
        }
      }),
    );
  });
});
