import { type Domain, domainSchema, type Link, linkSchema, parseResourceId } from '@waymark/contract';
import { aClick, insertClicks } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, aCaller, type Caller, startManagement, type TestManagement } from './test-management.js';

let management: TestManagement;
let acme: Caller;
let stranger: Caller;
let link: Link;

beforeAll(async () => {
  management = await startManagement();
  [acme, stranger] = await Promise.all([aCaller(management), aCaller(management)]);
  link = (await acme.post({ url: 'https://acme.com', key: 'a/Bé', externalId: 'x/1' })).body;
});
afterAll(() => management.close());

const codeOf = ({ status, body }: Answer) => [status, body.error?.code];

describe('GET /links/info', () => {
  it.each([
    ['linkId', () => `linkId=${link.id}`],
    ['linkId with ext_', () => 'linkId=ext_x%2F1'],
    ['externalId', () => 'externalId=ext_x%2F1'],
    ['domain and key', () => `domain=${acme.host}&key=A%2Fb%C3%A9`],
    ['domain and the stored key', () => `domain=${acme.host.toUpperCase()}&key=${encodeURIComponent(link.key)}`],
    ['linkId before anything else', () => `linkId=${link.id}&externalId=ext_none&domain=none&key=none`],
    ['externalId beside an empty linkId', () => `linkId=&externalId=ext_x%2F1`],
  ])('finds a link by %s', async (_what, query) => {
    expect(await acme.get(`/links/info?${query()}`)).toEqual({ status: 200, body: link });
  });

  it('finds the root link by the domain alone', async () => {
    const { body } = await acme.get(`/links/info?domain=${acme.host}`);
    expect(linkSchema.parse(body)).toMatchObject({ key: '_root', url: '' });
  });

  it.each([
    ['nothing named', '', 400, 'bad_request'],
    ['a key alone', 'key=a', 400, 'bad_request'],
    ['an externalId without ext_ that matches nothing', 'externalId=nope', 400, 'bad_request'],
    ['an externalId without ext_ that would match', 'externalId=x%2F1', 400, 'bad_request'],
    ['an unknown externalId', 'externalId=ext_nope', 404, 'not_found'],
    ['an unknown linkId', 'linkId=link_zzzzzzzzzzz', 404, 'not_found'],
    ['an invalid linkId', 'linkId=nonsense', 404, 'not_found'],
    ['an unknown domain', 'domain=nowhere.example&key=a', 404, 'not_found'],
  ])('%s answers %s %i', async (_what, query, status, code) => {
    expect(codeOf(await acme.get(`/links/info?${query}`))).toEqual([status, code]);
  });

  it("another workspace's link is not found, by any selector", async () => {
    for (const query of [`linkId=${link.id}`, 'externalId=ext_x%2F1', `domain=${acme.host}&key=a%2Fb%C3%A9`]) {
      expect(codeOf(await stranger.get(`/links/info?${query}`))).toEqual([404, 'not_found']);
    }
  });
});

describe('GET /links/{linkId}', () => {
  it('finds by id and by external id, decoded once', async () => {
    expect((await acme.get(`/links/${link.id}`)).body).toEqual(link);
    expect((await acme.get('/links/ext_x%2F1')).body).toEqual(link);
    expect(codeOf(await acme.get('/links/ext_x%252F1'))).toEqual([404, 'not_found']);
    expect(codeOf(await stranger.get(`/links/${link.id}`))).toEqual([404, 'not_found']);
  });

  it('shows the current counters', async () => {
    const workspaceId = parseResourceId('workspace', acme.workspaceId) ?? '';
    const linkId = parseResourceId('link', link.id) ?? '';
    await insertClicks(management.database.client, [
      aClick({ workspaceId, linkId, timestampMs: Date.UTC(2026, 6, 1) }),
    ]);
    expect((await acme.get(`/links/${link.id}`)).body).toMatchObject({
      clicks: 1,
      lastClicked: '2026-07-01T00:00:00.000Z',
    });
  });
});

describe('GET /domains', () => {
  it('lists those of the workspace; supports archived ones, search and pages', async () => {
    const caller = await aCaller(management);
    await management.catalog.domains.create(caller.workspaceId, { slug: `old.${caller.host}`, archived: true });
    const slugs = async (query: string) => {
      const { status, body } = await caller.get<Domain[]>(`/domains${query}`);
      expect(status).toBe(200);
      return domainSchema
        .array()
        .parse(body)
        .map(({ slug }) => slug);
    };
    expect(await slugs('')).toEqual([caller.host]);
    expect(await slugs('?archived=false&page=1&pageSize=50')).toEqual([caller.host]);
    expect(await slugs('?archived=TRUE')).toEqual([caller.host, `old.${caller.host}`]);
    expect(await slugs('?archived=true&search=old.')).toEqual([`old.${caller.host}`]);
    expect(await slugs('?archived=true&page=2&pageSize=1')).toEqual([`old.${caller.host}`]);
  });

  it.each([
    ['pageSize=101', 422],
    ['page=0', 422],
    ['pageSize=abc', 400],
    ['archived=yes', 400],
  ])('%s answers %i', async (query, status) => {
    expect((await acme.get(`/domains?${query}`)).status).toBe(status);
  });
});
