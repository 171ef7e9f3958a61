import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createClientAddressReader } from '../src/index.js';

const read = createClientAddressReader(['127.0.0.0/8', '::1/128', '10.0.0.0/8', '2001:db8:aa::/48', '198.51.100.7']);

describe('client address', () => {
  it('is the peer when the peer is not a trusted proxy, whatever the header contains', () => {
    expect(read('203.0.113.9', '1.2.3.4')).toEqual({ address: '203.0.113.9', isForwarded: false });
  });

  it('is the right-most hop that is not a trusted proxy', () => {
    expect(read('127.0.0.1', '1.2.3.4').address).toBe('1.2.3.4');
    expect(read('127.0.0.1', '9.9.9.9, 1.2.3.4').address).toBe('1.2.3.4');
    expect(read('127.0.0.1', '9.9.9.9, 1.2.3.4, 10.1.2.3,198.51.100.7').address).toBe('1.2.3.4');
    expect(read('2001:db8:aa::5', '9.9.9.9, 2001:DB8::1').address).toBe('2001:db8::1');
  });

  it('is the left-most hop when all are trusted, and the peer when there is no header', () => {
    expect(read('127.0.0.1', '10.0.0.1, 10.0.0.2').address).toBe('10.0.0.1');
    expect(read('127.0.0.1', undefined)).toEqual({ address: '127.0.0.1', isForwarded: true });
    expect(read('::1', '')).toEqual({ address: '::1', isForwarded: true });
  });

  it('treats IPv4 inside IPv6 as IPv4', () => {
    expect(read('::ffff:127.0.0.1', '::ffff:1.2.3.4')).toEqual({ address: '1.2.3.4', isForwarded: true });
    expect(read('::ffff:203.0.113.9', '1.2.3.4').isForwarded).toBe(false);
  });

  it('reads addresses with ports, brackets and zones', () => {
    expect(read('127.0.0.1', '1.2.3.4:5678').address).toBe('1.2.3.4');
    expect(read('127.0.0.1', '[2001:db8::2]:443').address).toBe('2001:db8::2');
    expect(read('127.0.0.1', 'fe80::1%eth0').address).toBe('fe80::1');
  });

  it('stops at a hop that is not an address, because hops left of it cannot be trusted', () => {
    for (const chain of ['6.6.6.6, unknown, 10.0.0.4', '6.6.6.6, , 10.0.0.4', '6.6.6.6, 300.1.1.1, 10.0.0.4']) {
      expect(read('127.0.0.1', chain).address).toBe('10.0.0.4');
    }
    for (const chain of [
      ',',
      ' ',
      'garbage',
      '1.2.3',
      '[',
      '::ffff:1.2.3.4.5',
      '0x7f.1',
      '010.1.2.3',
      '1.2.3.4.5',
      '1.2..4',
      '1.2.3.',
      '.1.2.3',
      '1.2.3.256',
      '1.2.3.4 x',
    ]) {
      expect(read('127.0.0.1', chain).address).toBe('127.0.0.1');
    }
  });

  it('is empty when the socket is closed', () => {
    expect(read(undefined, '1.2.3.4')).toEqual({ address: '', isForwarded: false });
  });

  it('never throws, is never a trusted proxy left of an untrusted hop, and never what an outsider put in front', () => {
    const hop = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string(), fc.constantFrom('10.0.0.1', '127.0.0.1', ''));
    fc.assert(
      fc.property(fc.array(hop), fc.ipV4(), (forged, visitor) => {
        fc.pre(!visitor.startsWith('10.') && !visitor.startsWith('127.') && visitor !== '198.51.100.7');
        expect(read('127.0.0.1', [...forged, visitor, '10.0.0.9'].join(', ')).address).toBe(visitor);
        expect(typeof read('127.0.0.1', forged.join(',')).address).toBe('string');
      }),
    );
  });

  it('compares IPv4 ranges as numbers', () => {
    const trusts = (range: string, address: string) =>
      createClientAddressReader([range])(address, '1.2.3.4').isForwarded;
    expect(trusts('172.16.5.9/12', '172.31.255.255')).toBe(true);
    expect(trusts('172.16.0.0/12', '172.32.0.0')).toBe(false);
    expect(trusts('255.255.255.255', '255.255.255.255')).toBe(true);
    expect(trusts('0.0.0.0/0', '255.255.255.255')).toBe(true);
    expect(trusts('0.0.0.0/0', '::1')).toBe(false);
    expect(trusts('192.0.2.1', '192.0.2.1')).toBe(true);
    expect(trusts('192.0.2.1', '192.0.2.2')).toBe(false);
  });

  it('is fast for a header with thousands of hops, and does not keep it in memory', () => {
    const chain = `${'10.0.0.1,'.repeat(14_000)}10.0.0.2`;
    expect(read('127.0.0.1', chain).address).toMatch(/^10\./);
    const trusted = Array.from({ length: 40 }, (_, hop) => `10.0.0.${hop}`);
    expect(read('127.0.0.1', trusted.join(', ')).address).toBe('10.0.0.8');
    expect(read('127.0.0.1', `1.2.3.4,${'x'.repeat(100_000)}`).address).toBe('127.0.0.1');
  });

  it('rejects an invalid range', () => {
    expect(() => createClientAddressReader(['10.0.0.0/99'])).toThrow();
    expect(() => createClientAddressReader(['proxy'])).toThrow();
  });
});
