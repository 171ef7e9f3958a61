import { expect, it } from 'vitest';
import { parseUrl } from '../src/index.js';

it('a URL has a host of at most 300 characters, because international names take quadratic time', () => {
  const path = `/${'x'.repeat(1_000)}@y`;
  expect(parseUrl(`https://user:password@${'例'.repeat(40)}.example:8080${path}`)?.pathname).toBe(path);
  expect(parseUrl(`https://${'例'.repeat(301)}/`)).toBeUndefined();
});
