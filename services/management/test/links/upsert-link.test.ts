import { type Link, linkSchema } from '@waymark/contract';
import { rounds } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement, withKey } from '../test-management.js';

let management: TestManagement;
let acme: Caller;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

const upsert = (body: object, caller = acme) => caller.call<Link>('PUT', '/links/upsert', body);
const codeOf = ({ status, body }: Awaited<ReturnType<typeof upsert>>) => [status, body.error?.code];
const count = async () => (await acme.get<number>('/links/count')).body;

/**
 * Upserts as the SDK does: repeats a request whose answer has `Retry-After`. On a slow machine not all of many requests that wait for one lock
 * have their turn in the ten seconds for which they wait.
 */
async function untilAnswered(payload: object) {
  for (let rest = 5; ; rest--) {
    const headers = { authorization: `Bearer ${acme.token}` };
    const answer = await management.app.inject({ method: 'PUT', url: '/links/upsert', headers, payload });
    if (rest === 0 || answer.headers['retry-after'] === undefined) return answer;
  }
}

describe('PUT /links/upsert', () => {
  it('creates a link for a new destination, updates an existing one, and does not touch it when nothing changes', async () => {
    const { status, body: created } = await upsert({ url: 'https://acme.com/one', key: 'one' });
    expect(status).toBe(200);
    expect(linkSchema.parse(created)).toMatchObject({ url: 'https://acme.com/one', key: 'one' });
    const before = await count();
    expect((await upsert({ url: 'https://acme.com/one' })).body).toEqual(created);
    const { body: changed } = await upsert({ url: 'acme.com/one', title: 'Title' });
    expect(changed).toEqual({ ...created, title: 'Title', updatedAt: changed.updatedAt });
    expect(await count()).toBe(before);
  });

  const aUtmValue = fc.constantFrom('news', 'a+b++', 'a b', 'ä&=', '%2B', ' x ', '', null);
  const aUtm = fc.dictionary(fc.constantFrom('utm_source', 'utm_term', 'utm_content', 'ref'), aUtmValue, {
    maxKeys: 3,
  });
  const aDestination = fc.constantFrom(
    '',
    '/',
    '/p?x=1',
    '?utm_source=old',
    '?utm_term=a+b&utm_source=&x=%20',
    '/#top',
  );

  it('returns the same link for a repeated body and changes nothing', async () => {
    let number = 0;
    const property = fc.asyncProperty(aDestination, aUtm, fc.boolean(), async (rest, utm, isThere) => {
      const url = `https://upsert${number++}.com${rest}`;
      if (isThere) await acme.post({ url });
      const body = { url, ...utm, title: 'Title', expiresAt: '2030-01-01', password: 'secret', geo: { DE: 'acme.de' } };
      const first = await upsert(body);
      expect(first.status).toBe(200);
      const before = await count();
      expect(await upsert(body)).toEqual(first);
      expect(await upsert(body)).toEqual(first);
      expect(await count()).toBe(before);
    });
    await fc.assert(property, { numRuns: rounds(40, 12) });
  }, 120_000);

  it('prefers a link with the UTM values to one without them', async () => {
    const url = 'https://acme.com/utm';
    const [plain, tagged] = [await acme.post({ url }), await acme.post({ url, utm_source: 'news' })];
    expect((await upsert({ url, utm_source: 'news' })).body).toEqual(tagged.body);
    expect((await upsert({ url, utm_source: 'other' })).body).toMatchObject({ id: plain.body.id, utm_source: 'other' });
    expect((await upsert({ url, utm_source: 'other' })).body.id).toBe(plain.body.id);
  });

  it('finds the link whose query an earlier request has encoded differently, and does not change it', async () => {
    const written = await acme.post({ url: 'https://acme.com/written?flag=&q=a+b' });
    const request = { url: 'https://acme.com/written?flag&q=a%20b', utm_source: null };
    expect((await upsert(request)).body).toEqual(written.body);
    expect((await acme.call('PATCH', `/links/${written.body.id}`, request)).body).toEqual(written.body);
    const { body: respelled } = await acme.call<Link>('PATCH', `/links/${written.body.id}`, { url: request.url });
    expect(respelled.url).toBe(request.url);
  });

  it('without UTM fields finds exactly the URL that it sends, not another spelling of it; also a link that is archived', async () => {
    const spellings = ['https://acme.com/', 'https://ACME.com/', 'https://acme.com/?f', 'https://acme.com/?f=&q=+'];
    const links = await Promise.all(spellings.map((url) => acme.post({ url, archived: true })));
    const found = await Promise.all(spellings.map((url) => upsert({ url, title: url })));
    expect(found.map(({ body }) => [body.id, body.title])).toEqual(links.map(({ body }) => [body.id, body.url]));
    const ids = new Set(links.map(({ body }) => body.id));
    for (const url of ['https://acme.com', 'HTTPS://acme.com/', 'https://acme.com/?f=', 'https://acme.com/?f&q=%20']) {
      const { body: created } = await upsert({ url });
      expect([created.url, ids.has(created.id)]).toEqual([url, false]);
      ids.add(created.id);
    }
  });

  it('one of concurrent requests with the same UTM values, in either form, creates a link', async () => {
    const [apart, within] = [
      { url: 'https://acme.com/at?x=1', utm_source: 'n' },
      { url: 'https://acme.com/at?x=1&utm_source=n' },
    ];
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_none, index) => untilAnswered(index % 2 ? apart : within)),
    );
    const found = new Set(answers.map((answer) => `${answer.statusCode} ${answer.json<Link>().id}`));
    expect([...found]).toEqual([expect.stringMatching(/^200 link_/)]);
  });

  it('updates the oldest of several links, whatever domain or key the body has', async () => {
    const url = 'https://acme.com/several';
    const [oldest] = [await acme.post({ url }), await acme.post({ url })];
    expect((await upsert({ url, key: 'moved' })).body).toMatchObject({ id: oldest.body.id, key: 'moved' });
  });

  it('checks domain and key of a link that it finds before tags and folder', async () => {
    const url = 'https://acme.com/checked';
    await acme.post({ url });
    const answers = [
      await upsert({ url, key: 'a b', folderId: 'fold_x' }),
      await upsert({ url, domain: 'elsewhere.example', tagIds: ['tag_x'] }),
    ];
    expect(answers.map(codeOf)).toEqual([
      [422, 'unprocessable_entity'],
      [403, 'forbidden'],
    ]);
  });

  it('searches only links of the workspace that are not deleted', async () => {
    const url = 'https://acme.com/alone';
    const { body: first } = await upsert({ url });
    const stranger = await aCaller(management);
    expect((await upsert({ url }, stranger)).body.id).not.toBe(first.id);
    await acme.call('DELETE', `/links/${first.id}`);
    expect((await upsert({ url })).body.id).not.toBe(first.id);
  });

  it('one of concurrent requests for one destination creates a link', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => untilAnswered({ url: 'https://acme.com/race' })),
    );
    const found = new Set(answers.map((answer) => `${answer.statusCode} ${answer.json<Link>().id}`));
    expect([...found]).toEqual([expect.stringMatching(/^200 link_/)]);
  });

  it('creates no links beyond the monthly quota, but still updates', async () => {
    const caller = await aCaller(management, 'business');
    await management.catalog.workspaces.update(caller.workspaceId, { quotas: { linksPerMonth: 1 } });
    expect((await upsert({ url: 'https://acme.com/a' }, caller)).status).toBe(200);
    expect(codeOf(await upsert({ url: 'https://acme.com/b' }, caller))).toEqual([403, 'forbidden']);
    expect((await upsert({ url: 'https://acme.com/a', title: 'x' }, caller)).status).toBe(200);
    expect(codeOf(await upsert({ url: 'nonsense' }, caller))).toEqual([422, 'unprocessable_entity']);
    expect(codeOf(await upsert({}, caller))).toEqual([400, 'bad_request']);
  });

  it.each([
    ['no url', {}, 400, 'bad_request'],
    ['an empty url', { url: '' }, 400, 'bad_request'],
    ['an invalid url', { url: 'nonsense' }, 422, 'unprocessable_entity'],
    ['a taken key', { url: 'https://acme.com/new', key: 'taken' }, 409, 'conflict'],
  ])('refuses %s', async (_what, body, status, code) => {
    await acme.post({ url: 'https://acme.com/taken', key: 'taken' });
    expect(codeOf(await upsert(body))).toEqual([status, code]);
  });

  it('needs the permission links.write', async () => {
    const reader = await withKey(management, acme, 'owner', ['links.read']);
    expect(codeOf(await upsert({ url: 'https://acme.com' }, reader))).toEqual([403, 'forbidden']);
  });
});
