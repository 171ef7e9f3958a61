import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { limitedNetwork } from '../src/index.js';

const bytes = (length: number) => fc.array(fc.integer({ min: 0, max: 255 }), { minLength: length, maxLength: length });
/** Global unicast: no IPv4 address is embedded in it. */
const prefix = bytes(8).map(([, ...rest]) => [0x2a, ...rest]);
const text = (all: number[]) => ipaddr.fromByteArray(all).toString();

describe('the network that counts as one caller', () => {
  it('is the same for all addresses of an IPv6 /64, in every notation, and differs between /64s', () => {
    fc.assert(
      fc.property(prefix, prefix, bytes(8), bytes(8), (network, other, one, two) => {
        const address = text([...network, ...one]);
        const key = limitedNetwork(address);
        expect(limitedNetwork(text([...network, ...two]))).toBe(key);
        expect(limitedNetwork(ipaddr.fromByteArray([...network, ...one]).toNormalizedString())).toBe(key);
        expect(limitedNetwork(address.toUpperCase())).toBe(key);
        expect(limitedNetwork(text([...other, ...one])) === key).toBe(
          text([...network, ...one]) === text([...other, ...one]),
        );
      }),
    );
  });

  it('is the IPv4 address itself, also when it is embedded in an IPv6 one', () => {
    fc.assert(
      fc.property(bytes(4), (address) => {
        const plain = address.join('.');
        expect(limitedNetwork(plain)).toBe(plain);
        expect(limitedNetwork(`::ffff:${plain}`)).toBe(plain);
        expect(limitedNetwork(`64:ff9b::${plain}`)).toBe(plain);
      }),
    );
  });

  it.each([
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['::1', '::/64'],
    ['unknown', 'unknown'],
    ['', ''],
    [undefined, ''],
  ])('of %s is %s', (address, network) => {
    expect(limitedNetwork(address)).toBe(network);
  });

  it('may be larger for limits per organisation', () => {
    expect(limitedNetwork('2001:db8:1:2::3', 48)).toBe('2001:db8:1::/48');
    expect(limitedNetwork('192.0.2.1', 48)).toBe('192.0.2.1');
  });
});
