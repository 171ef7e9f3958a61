import type { Customer, Link } from '@waymark/contract';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement, withKey } from './test-management.js';

/** More than a statement reads. */
const LINKS = 1100;

let management: TestManagement;
let acme: Caller;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
  const tag = await acme.call<{ id: string }>('POST', '/tags', { name: 'Spring' });
  for (let first = 0; first < LINKS; first += 100) {
    const links = Array.from({ length: 100 }, (_, index) => ({
      ...{ domain: acme.host, key: `k${first + index}`, url: `https://acme.com/${first + index}` },
      ...(index === 0 ? { tagIds: [tag.body.id], externalId: `e${first}` } : {}),
    }));
    expect((await acme.call('POST', '/links/bulk', links)).status).toBe(200);
  }
  for (const index of [1, 2, 3]) {
    const customer = {
      externalId: `user_${index}`,
      name: `=Ada ${index}`,
      email: `ada${index}@acme.com`,
      country: 'FR',
    };
    expect((await acme.call('POST', '/customers', customer)).status).toBe(201);
  }
});
afterAll(() => management.close());

async function text(caller: Caller, path: string) {
  const response = await management.app.inject({ url: path, headers: { authorization: `Bearer ${caller.token}` } });
  return { status: response.statusCode, headers: response.headers, trailers: response.trailers, text: response.body };
}
const linesOf = <Item>(body: string) =>
  body
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Item);

/** Lists that were read already: no test changes a link. */
const lists = new Map<string, Promise<Link[]>>();
/** All links of `GET /links`. */
function listedLinks(parameters = ''): Promise<Link[]> {
  const list = lists.get(parameters) ?? readLinks(parameters);
  lists.set(parameters, list);
  return list;
}
async function readLinks(parameters: string): Promise<Link[]> {
  const links: Link[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await acme.get<Link[]>(`/links?page=${page}&${parameters}`);
    links.push(...body);
    if (body.length < 100) return links;
  }
}

describe('GET /links/export', () => {
  test.each(['', 'sortOrder=asc', 'tagNames=Spring', 'search=k10'])(
    'has the links of GET /links, in its order: %s',
    async (filters) => {
      const { text: body, trailers } = await text(acme, `/links/export?format=ndjson&${filters}`);
      const links = await listedLinks(filters);
      expect(links.length).toBeGreaterThan(1);
      expect(linesOf<Link>(body)).toEqual(links);
      expect(trailers).toEqual({ 'x-export-rows': String(links.length), 'x-export-last-id': links.at(-1)?.id });
    },
  );

  test('continues after a link with exactly the rest', async () => {
    const links = await listedLinks();
    const rest = await text(acme, `/links/export?columns=id&startingAfter=${links[1050]?.id}`);
    expect(rest.text).toBe(
      links
        .slice(1051)
        .map(({ id }) => `${id}\r\n`)
        .join(''),
    );
  });

  test('has the peer’s columns by default', async () => {
    const { text: body } = await text(acme, '/links/export?tagNames=Spring&sortOrder=asc');
    const [header, first] = parse(body, { record_delimiter: '\r\n' }) as string[][];
    expect(header?.join()).toBe('link,url,clicks,createdAt,leads,conversions,saleAmount,id,updatedAt,tags,archived');
    const [link] = await listedLinks('tagNames=Spring&sortOrder=asc');
    expect(first).toEqual([
      ...[
        `https://${acme.host}/k0`,
        'https://acme.com/0',
        '0',
        link?.createdAt,
        '0',
        '0',
        '0',
        link?.id,
        link?.updatedAt,
      ],
      ...['Spring', 'false'],
    ]);
  });

  test.each([
    ['sortBy=clicks', 422, 'sortBy'],
    ['page=2', 422, 'page'],
    ['columns=nonsense', 422, 'nonsense'],
    ['startingAfter=link_x', 422, 'startingAfter'],
    ['domain=other.example', 404, 'Domain'],
  ])('refuses %s with %i and names it', async (parameters, status, part) => {
    const refused = await text(acme, `/links/export?${parameters}`);
    expect([refused.status, refused.text]).toEqual([status, expect.stringContaining(part)]);
  });

  test('another workspace gets none of them, nor a place to continue; a stranger gets nothing', async () => {
    const other = await aCaller(management);
    const own = linesOf<Link>((await text(other, '/links/export?format=ndjson')).text);
    expect(own.filter(({ workspaceId }) => workspaceId === acme.workspaceId)).toEqual([]);
    const [link] = await listedLinks();
    expect((await text(other, `/links/export?startingAfter=${link?.id}`)).status).toBe(422);
    expect((await text({ ...acme, token: 'dub_nobody' }, '/links/export')).status).toBe(401);
  });
});

describe('GET /customers/export', () => {
  test('has the customers of GET /customers, in its order', async () => {
    const { body: newest } = await acme.get<Customer[]>('/customers');
    const { text: body } = await text(acme, '/customers/export?format=ndjson');
    expect(linesOf<Customer>(body)).toEqual(newest);
    const oldest = await text(acme, '/customers/export?format=ndjson&sortOrder=asc');
    expect(linesOf<Customer>(oldest.text)).toEqual([...newest].reverse());
    const rest = await text(acme, `/customers/export?columns=externalId&startingAfter=${newest[0]?.id}`);
    expect(rest.text).toBe('user_2\r\nuser_1\r\n');
    const one = await text(acme, '/customers/export?columns=name&email=ada2@acme.com');
    expect(one.text).toBe("name\r\n'=Ada 2\r\n");
  });

  test.each(['sortBy=createdAt&country=FR', 'includeExpandedFields=true', 'includeExpandedFields=false&search=ada1'])(
    'has the objects that GET /customers has with the same parameters: %s',
    async (parameters) => {
      const { body: listed } = await acme.get<Customer[]>(`/customers?${parameters}`);
      const { text: body } = await text(acme, `/customers/export?format=ndjson&${parameters}`);
      expect(listed.length).toBeGreaterThan(0);
      expect(linesOf<Customer>(body)).toEqual(listed);
    },
  );

  test('needs what GET /customers needs', async () => {
    expect((await text(await aCaller(management, 'pro'), '/customers/export')).status).toBe(403);
    const viewer = await withKey(management, acme, 'viewer');
    const [list, file] = [await text(viewer, '/customers'), await text(viewer, '/customers/export')];
    expect([file.status, file.text]).toEqual([list.status, list.text]);
    expect((await text(acme, '/customers/export?linkId=link_unknown')).text).toMatch(/^id,externalId,name[^\n]*\r\n$/);
    expect((await text(acme, '/customers/export?startingAfter=cus_x')).status).toBe(422);
  });
});
