import { expect, it } from 'vitest';
import { isDomainServed } from '../../src/index.js';

it.each([
  ['without a record', 'go.acme.com', undefined, true],
  ['in use', 'go.acme.com', { archived: false }, true],
  ['archived', 'go.acme.com', { archived: true }, false],
  ['the default one, whatever a workspace has archived', 'shared.example', { archived: true }, true],
])('a domain that is %s', (_what, domain, record, served) => {
  expect(isDomainServed(domain, record, 'shared.example')).toBe(served);
});
