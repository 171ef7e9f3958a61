import type { AddressInfo } from 'node:net';
import { Dub } from 'dub';
import * as errors from 'dub/models/errors';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from './test-management.js';

let management: TestManagement;
let caller: Caller;
let dub: Dub;

beforeAll(async () => {
  management = await startManagement();
  caller = await aCaller(management);
  await management.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = management.app.server.address() as AddressInfo;
  dub = new Dub({ token: caller.token, serverURL: `http://127.0.0.1:${port}` });
});
afterAll(() => management.close());

describe('the dub SDK, unchanged', () => {
  it('creates a link and gets it by id, external id and address', async () => {
    const link = await dub.links.create({
      url: 'https://acme.com',
      key: 'sdk',
      externalId: 'sdk-1',
      trackConversion: true,
      utmSource: 'sdk',
      geo: { FR: 'https://acme.fr' },
      testVariants: [
        { url: 'https://a.com', percentage: 50 },
        { url: 'https://b.com', percentage: 50 },
      ],
    });
    expect(link).toMatchObject({ key: 'sdk', url: 'https://acme.com/?utm_source=sdk', utmSource: 'sdk' });
    expect(await dub.links.get({ linkId: link.id })).toEqual(link);
    expect(await dub.links.get({ externalId: 'ext_sdk-1' })).toEqual(link);
    expect(await dub.links.get({ domain: caller.host, key: 'SDK' })).toEqual(link);
  });

  it('lists domains, page by page', async () => {
    await management.catalog.domains.create(caller.workspaceId, { slug: `two.${caller.host}` });
    const slugs: string[] = [];
    for await (const page of await dub.domains.list({ pageSize: 1 }))
      slugs.push(...page.result.map(({ slug }) => slug));
    expect(slugs).toEqual([caller.host, `two.${caller.host}`]);
  });

  it('throws its own typed errors', async () => {
    await dub.links.create({ url: 'https://acme.com', key: 'typed' });
    await expect(dub.links.create({ url: 'https://acme.com', key: 'typed' })).rejects.toBeInstanceOf(errors.Conflict);
    await expect(dub.links.create({ url: 'nonsense' })).rejects.toBeInstanceOf(errors.UnprocessableEntity);
    await expect(dub.links.create({ url: '' })).rejects.toBeInstanceOf(errors.BadRequest);
    await expect(dub.links.create({ url: 'https://a.com', domain: 'x.example' })).rejects.toBeInstanceOf(
      errors.Forbidden,
    );
    await expect(dub.links.get({ linkId: 'link_none' })).rejects.toBeInstanceOf(errors.NotFound);
  });
});

describe('the OpenAPI document', () => {
  it('names every operation on links', async () => {
    const { port } = management.app.server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/openapi.json`);
    const { paths } = (await response.json()) as { paths: Record<string, object> };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    expect(operations.filter((operation) => operation.includes(' /links')).sort()).toEqual([
      'delete /links/bulk',
      'delete /links/{linkId}',
      'get /links',
      'get /links/count',
      'get /links/export',
      'get /links/info',
      'get /links/metatags',
      'get /links/{linkId}',
      'patch /links/bulk',
      'patch /links/{linkId}',
      'post /links',
      'post /links/bulk',
      'put /links/upsert',
    ]);
  });
});
