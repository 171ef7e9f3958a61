import type { Catalog } from '@waymark/catalog';
import { expect, it } from 'vitest';
import { createPastLinks } from '../../src/history/past-links.js';
import { parseDomainMap } from '../../src/index.js';

it('the links of a batch are looked up a hundred at a time, and each once', async () => {
  let [lookUps, open, most] = [0, 0, 0];
  const findByAddress = async (domain: string, key: string) => {
    lookUps++;
    most = Math.max(most, ++open);
    await new Promise(setImmediate);
    open--;
    return key === 'gone' ? undefined : { id: `${domain}/${key}`, workspaceId: 'ws_1' };
  };
  const links = createPastLinks({
    catalog: { links: { findByAddress }, domains: {} } as unknown as Catalog,
    ...{ workspaceId: 'ws_1', source: 'dub', domains: parseDomainMap([]), fallbackDomain: 'go.test', now: Date.now },
  });
  const addresses = Array.from({ length: 500 }, (_, n) => ({ domain: null, key: n === 7 ? 'gone' : `k${n % 250}` }));
  await links.prepare([...addresses, { domain: 'bit.ly', key: 'unmapped' }]);
  expect([lookUps, most]).toEqual([251, 100]);
  expect(await links.find({ domain: null, key: 'k1' })).toMatchObject({ id: 'go.test/k1' });
  await expect(links.find({ domain: null, key: 'gone' })).rejects.toThrow('there is no link go.test/gone');
  await expect(links.find({ domain: 'bit.ly', key: 'unmapped' })).rejects.toThrow('need a domain of yours');
  const long = { domain: null, key: 'x'.repeat(5_000) };
  await links.prepare([long]);
  await expect(links.find(long)).rejects.toThrow('the address of the link is too long');
  expect(lookUps).toBe(251);
});

it('a link of another workspace is not found', async () => {
  const findByAddress = async () => ({ id: 'link_1', workspaceId: 'ws_2' });
  const links = createPastLinks({
    catalog: { links: { findByAddress }, domains: {} } as unknown as Catalog,
    ...{ workspaceId: 'ws_1', source: 'dub', domains: parseDomainMap([]), fallbackDomain: 'go.test', now: Date.now },
  });
  await expect(links.find({ domain: null, key: 'theirs' })).rejects.toThrow('there is no link go.test/theirs');
});
