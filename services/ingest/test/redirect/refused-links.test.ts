import { createResourceId } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
});
afterAll(() => ingest.stop());

let domains = 0;

async function aDomain(fields: object, owner = ingest.workspaceId): Promise<string> {
  domains += 1;
  const slug = `refused${domains}.test`;
  await ingest.catalog.domains.create(owner, { slug, ...fields });
  return slug;
}

/** All that a visitor sees of the answers to a visit, to the form and to a request for the image. */
async function answersAt(domain: string, path: string) {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const answers = await Promise.all([
    ingest.visit(path, { host: domain }),
    ingest.visit(path, { host: domain }, 'HEAD'),
    ingest.linkApp.inject({ method: 'POST', url: path, headers: { host: domain, ...form }, payload: 'password=x' }),
    ingest.visit(`/_image${path}`, { host: domain }),
  ]);
  return answers.map(({ statusCode, headers, body }) => ({ statusCode, headers: { ...headers, date: '' }, body }));
}

describe('a link that search engines may index answers like a missing one, in status, headers and body,', () => {
  const image = `data:image/png;base64,${Buffer.from('image').toString('base64')}`;
  const fields = { doIndex: true, proxy: true, image, url: 'https://acme.com/' };
  it.each([
    ['if it is disabled', {}, { disabledAt: new Date().toISOString() }],
    ['if its domain is archived', { archived: true }, {}],
    ['if its workspace is gone', {}, {}, createResourceId('workspace', Date.now())],
  ])('%s', async (_state, ofDomain, ofLink, owner = ingest.workspaceId) => {
    for (const notFoundUrl of [null, 'https://acme.com/404']) {
      const domain = await aDomain({ notFoundUrl, ...ofDomain }, owner);
      await ingest.catalog.links.create(owner, { domain, key: 'hidden', ...fields, ...ofLink });
      const missing = await answersAt(domain, '/nothing');
      expect(missing[0]?.headers).toMatchObject({ 'x-robots-tag': 'googlebot: noindex' });
      expect(await answersAt(domain, '/hidden')).toEqual(missing);
    }
  });
});

it('both files with the apps of a domain are served as JSON', async () => {
  const appleAppSiteAssociation = '{"applinks":{"details":[]}}';
  const assetLinks = '[{"relation":["delegate_permission/common.handle_all_urls"]}]';
  const host = await aDomain({ appleAppSiteAssociation, assetLinks });
  for (const [file, text] of Object.entries({
    'apple-app-site-association': appleAppSiteAssociation,
    'assetlinks.json': assetLinks,
  })) {
    const { statusCode, headers, body } = await ingest.visit(`/.well-known/${file}`, { host });
    expect([statusCode, headers['content-type'], body]).toEqual([200, 'application/json', text]);
  }
});

it('scripts that scanners look for are redirected in any case, also at a path that no key can be', async () => {
  for (const path of [`/${'x'.repeat(1100)}.PHP`, '/a%01b.Php7', `/.Well-Known/${'x'.repeat(1100)}`]) {
    const { statusCode, headers } = await ingest.visit(path);
    expect([statusCode, headers.location]).toEqual([302, '/?dub-no-track=1']);
  }
});
