import { expect, it } from 'vitest';
import { createImportBodySchema, parseUrl } from '../src/index.js';

it('a URL has a host of at most 300 characters, because international names take quadratic time', () => {
  const path = `/${'x'.repeat(1_000)}@y`;
  expect(parseUrl(`https://user:password@${'例'.repeat(40)}.example:8080${path}`)?.pathname).toBe(path);
  expect(parseUrl(`https://${'例'.repeat(301)}/`)).toBeUndefined();
});

it('the address of a service has no user, query and fragment, not even empty ones', () => {
  const isAccepted = (address: string) => createImportBodySchema.shape.address.safeParse(address).success;
  for (const address of ['https://a.test', 'https://a.test:8443/links/', 'http://[::1]:9/a@b'])
    expect([address, isAccepted(address)]).toEqual([address, true]);
  const wrong = ['?', '#', '/?', '/a#', '/?q=1'].map((end) => `https://a.test${end}`);
  for (const address of [...wrong, 'https://@a.test', 'https://:@a.test', 'https://u:p@a.test', 'https:/\\@a.test'])
    expect([address, isAccepted(address)]).toEqual([address, false]);
});
