import { describe, expect, it } from 'vitest';
import { createAddressGuard } from '../src/address-guard.js';

const guard = createAddressGuard([]);

describe('the guard of addresses', () => {
  it.each(['8.8.8.8', '93.184.216.34', '2606:4700::6810:84e5', '::ffff:8.8.8.8'])('allows the public %s', (address) => {
    expect(guard.allows(address)).toBe(true);
  });

  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.0.9',
    '169.254.169.254',
    '172.16.0.1',
    '192.0.0.1',
    '192.168.1.1',
    '198.18.0.1',
    '203.0.113.7',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    'fc00::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '',
    'localhost',
    '127.1',
  ])('refuses %s', (address) => {
    expect(guard.allows(address)).toBe(false);
  });

  it('refuses the address at which Azure serves the configuration of a machine, unless the operator allows it', () => {
    expect(['168.63.129.16', '::ffff:168.63.129.16'].some(guard.allows)).toBe(false);
    expect(createAddressGuard(['168.63.129.16']).allows('168.63.129.16')).toBe(true);
    expect(guard.allows('168.63.129.17')).toBe(true);
  });

  it('allows no address at all with none', () => {
    expect(['8.8.8.8', '127.0.0.1', '::1'].some(createAddressGuard(['none']).allows)).toBe(false);
  });

  it('allows the ranges that the operator has set, and no others', () => {
    const inner = createAddressGuard(['10.0.0.0/8', '::1', '192.168.1.7']);
    expect(['10.9.9.9', '::1', '192.168.1.7', '::ffff:10.1.1.1'].every(inner.allows)).toBe(true);
    expect(['11.0.0.0/8', '127.0.0.1', '192.168.1.8', '::2', '172.16.0.1'].some(inner.allows)).toBe(false);
  });
});
