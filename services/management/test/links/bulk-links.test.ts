import { type Link, type LinkError, linkErrorSchema, linkSchema } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement, withKey } from '../test-management.js';

let management: TestManagement;
let acme: Caller;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

type Item = Partial<Link> & Partial<LinkError>;
const URL_A = 'https://acme.com/a';
const DATA_URL = 'data:image/png;base64,iVBORw0KGgo=';
const bulkPost = (body: unknown, caller = acme) => caller.call<Item[]>('POST', '/links/bulk', body);
const bulkPatch = (body: object, caller = acme) => caller.call<Link[]>('PATCH', '/links/bulk', body);
const bulkDelete = (query: string, caller = acme) =>
  caller.call<{ deletedCount: number }>('DELETE', `/links/bulk${query}`);
const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } | string } }) => [
  status,
  typeof body.error === 'object' ? body.error.code : undefined,
];

/** Number of table parts that inserts have created so far. */
async function partsEver(table: string): Promise<number> {
  const rows = await management.database.client.query({
    query: `SELECT max(max_block_number) FROM system.parts WHERE database = {database:String} AND table = {table:String}`,
    query_params: { database: management.database.database, table },
    format: 'JSONCompactEachRow',
  });
  const [[count] = []] = await rows.json<[string]>();
  return Number(count);
}

async function aLink(fields: object = {}): Promise<Link> {
  const { status, body } = await acme.post({ url: URL_A, ...fields });
  expect(status).toBe(200);
  return body;
}

describe('POST /links/bulk', () => {
  it('creates a hundred links in the given order, in one insert', async () => {
    await bulkPost([{ url: URL_A }]);
    const before = [await partsEver('links'), await partsEver('names')];
    const bodies = Array.from({ length: 100 }, (_, index) => ({
      url: `${URL_A}/${index}`,
      ...(index % 2 === 0 ? { key: `bulk-${index}` } : {}),
      externalId: `bulk-${index}`,
    }));
    const { status, body } = await bulkPost(bodies);
    expect(status).toBe(200);
    const links = linkSchema.array().parse(body);
    expect(links.map(({ url, externalId }) => ({ url, externalId }))).toEqual(
      bodies.map(({ url, externalId }) => ({ url, externalId })),
    );
    expect(new Set(links.map(({ key }) => key)).size).toBe(100);
    expect([(await partsEver('links')) - (before[0] ?? 0), (await partsEver('names')) - (before[1] ?? 0)]).toEqual([
      1, 1,
    ]);
    expect((await acme.get('/links/ext_bulk-99')).body.url).toBe(`${URL_A}/99`);
    expect((await acme.get(`/links/info?domain=${acme.host}&key=BULK-42`)).body.url).toBe(`${URL_A}/42`);
  });

  it('lists the errors of failed links after the created ones', async () => {
    await aLink({ key: 'there', externalId: 'there' });
    const bodies = [
      { url: 'nonsense' },
      { url: URL_A, key: 'First' },
      { url: URL_A, key: 'THERE' },
      { url: URL_A, externalId: 'there' },
      { url: URL_A, tagNames: ['unknown'] },
      { url: URL_A, folderId: 'fold_x' },
      { url: URL_A, domain: 'elsewhere.example' },
      { url: URL_A, externalId: 'twice' },
      { url: URL_A, externalId: 'twice' },
      { url: URL_A, proxy: true, image: DATA_URL },
      { url: URL_A, key: 'a b' },
      { url: URL_A, key: 'Last' },
    ];
    const { status, body } = await bulkPost(bodies);
    expect(status).toBe(200);
    expect(
      linkSchema
        .array()
        .parse(body.slice(0, 3))
        .map(({ key }) => key),
    ).toEqual(['First', expect.any(String), 'Last']);
    const errors = linkErrorSchema.array().parse(body.slice(3));
    const order = [0, 2, 3, 4, 5, 6, 8, 9, 10];
    expect(errors.map(({ link }) => link)).toEqual(order.map((index) => bodies[index]));
    expect(errors.map(({ code }) => code)).toEqual([
      ...['unprocessable_entity', 'conflict', 'conflict', 'unprocessable_entity', 'not_found', 'forbidden'],
      ...['conflict', 'unprocessable_entity', 'unprocessable_entity'],
    ]);
  });

  it('gives the externalId of a link that is refused to the next link with it', async () => {
    await aLink({ key: 'occupied' });
    const bodies = [{ key: 'occupied', externalId: 'next' }, { externalId: 'next' }, { externalId: 'next' }];
    const { body } = await bulkPost(bodies.map((fields) => ({ url: URL_A, ...fields })));
    expect(body.map(({ externalId, code }) => [externalId, code])).toEqual([
      ['next', undefined],
      [undefined, 'conflict'],
      [undefined, 'conflict'],
    ]);
    expect((await acme.get('/links/ext_next')).body.id).toBe(body[0]?.id);
  });

  it('reports a link that was not created exactly as it was sent, with unknown members and blanks', async () => {
    const sent = {
      ...{ key: 'a b', url: ` ${URL_A} `, utm_source: ' news ', tagNames: 'x, y', expiresAt: null },
      note: { for: ['us', { deep: 1.5 }] },
    };
    const other = { url: URL_A, utm_source: ' news ', note: 1, proxy: true, image: 'data:text/plain,x' };
    const { status, body } = await bulkPost([other, sent]);
    expect(status).toBe(200);
    expect(linkSchema.parse(body[0])).toMatchObject({ utm_source: 'news', proxy: true, image: null });
    expect(body[1]).toEqual({ link: sent, error: expect.any(String), code: 'unprocessable_entity' });
  });

  it('reports the same error for a link as creating it alone', async () => {
    await aLink({ key: 'one-taken', externalId: 'one-taken' });
    const later = { tagNames: ['unknown'], folderId: 'fold_x', expiresAt: 'never' };
    const bodies = [
      { url: URL_A, key: 'ONE-taken', ...later },
      { url: URL_A, externalId: 'one-taken', ...later },
      { url: URL_A, key: 'one-free', ...later },
      { url: URL_A, key: 'one-free-too', folderId: 'fold_x', expiresAt: 'never' },
    ];
    const { body } = await bulkPost(bodies);
    const alone = await Promise.all(bodies.map((one) => acme.post(one)));
    expect(linkErrorSchema.array().parse(body)).toEqual(
      alone.map(({ body: { error } }, index) => ({ link: bodies[index], error: error.message, code: error.code })),
    );
    expect(body.map(({ code }) => code)).toEqual(['conflict', 'conflict', 'unprocessable_entity', 'not_found']);
  });

  it.each([
    ['what is no array', {}, 400, 'bad_request'],
    ['no links', [], 422, 'unprocessable_entity'],
    ['101 links', Array.from({ length: 101 }, () => ({ url: URL_A })), 422, 'unprocessable_entity'],
    ['a link without url', [{ url: URL_A }, {}], 400, 'bad_request'],
    ['a link with too long a key', [{ url: URL_A }, { url: URL_A, key: 'x'.repeat(191) }], 422, 'unprocessable_entity'],
    [
      'two links with one domain and key',
      [
        { url: URL_A, key: 'same' },
        { url: URL_A, key: '/SAME' },
      ],
      400,
      'bad_request',
    ],
    [
      'two links with one key in both encodings',
      [
        { url: URL_A, key: 'blog/münchen' },
        { url: URL_A, key: 'xn--blog/mnchen-yhb' },
      ],
      400,
      'bad_request',
    ],
  ])('refuses %s as a whole', async (_what, body, status, code) => {
    expect(codeOf(await bulkPost(body))).toEqual([status, code]);
  });

  it('accepts one key on two domains', async () => {
    const { body } = await bulkPost([
      { url: URL_A, key: 'both' },
      { url: URL_A, key: 'both', domain: 'shared.example' },
    ]);
    expect(linkSchema.array().parse(body)).toHaveLength(2);
  });

  it('rejects all links beyond the monthly quota, before other errors of the body', async () => {
    const caller = await aCaller(management, 'business');
    await management.catalog.workspaces.update(caller.workspaceId, { quotas: { linksPerMonth: 2 } });
    const three = Array.from({ length: 3 }, () => ({ url: URL_A }));
    expect(codeOf(await bulkPost(three, caller))).toEqual([403, 'forbidden']);
    expect((await bulkPost(three.slice(1), caller)).status).toBe(200);
    expect(codeOf(await bulkPost([], caller))).toEqual([403, 'forbidden']);
  });

  it('accepts a hundred of the longest destinations', async () => {
    const url = `https://acme.com/${'x'.repeat(31_000)}`;
    const { status, body } = await bulkPost(Array.from({ length: 100 }, () => ({ url })));
    expect([status, body.length]).toEqual([200, 100]);
  });

  it.each(['tagIds', 'tagNames'])(
    'rejects more than five thousand different %s before it looks them up',
    async (field) => {
      const list = (link: number) => Array.from({ length: 1_000 }, (_, index) => `tag_${link}000${index}`).join(',');
      const answer = await bulkPost([0, 1, 2, 3, 4, 5].map((link) => ({ url: URL_A, [field]: list(link) })));
      expect([answer.status, JSON.stringify(answer.body)]).toEqual([
        422,
        expect.stringContaining(`${field}: must name at most 5000 different tags in a request`),
      ]);
    },
  );

  it('needs the permission links.write', async () => {
    const reader = await withKey(management, acme, 'owner', ['links.read']);
    for (const answer of [
      await bulkPost([{ url: URL_A }], reader),
      await bulkPatch({ linkIds: ['x'], data: {} }, reader),
      await bulkDelete('?linkIds=x', reader),
    ]) {
      expect(codeOf(answer)).toEqual([403, 'forbidden']);
    }
  });
});

describe('PATCH /links/bulk', () => {
  it('updates links by id or external id, in the given order, each once, in one insert; unknown ones are skipped', async () => {
    const links = await Promise.all([1, 2, 3].map((mark) => aLink({ externalId: `patch-${mark}`, title: `${mark}` })));
    const [one, two, three] = links.map(({ id }) => id);
    const before = await partsEver('links');
    const linkIds = [three, 'link_zzzzzzzzzzz', one, three, 'ext_patch-1'];
    const { status, body } = await bulkPatch({ linkIds, externalIds: ['patch-2'], data: { comments: 'all' } });
    expect([status, body.map(({ id }) => id)]).toEqual([200, [three, one]]);
    expect((await partsEver('links')) - before).toBe(1);
    expect(
      linkSchema
        .array()
        .parse(body)
        .map(({ title, comments }) => [title, comments]),
    ).toEqual([
      ['3', 'all'],
      ['1', 'all'],
    ]);
    const externalIds = ['patch-2', 'ext_patch-3', 'none', 'ext_none', 'patch-3', 'ext_patch-2'];
    const external = await bulkPatch({ externalIds, data: { archived: true } });
    expect(external.body.map(({ id, archived }) => [id, archived])).toEqual([
      [two, true],
      [three, true],
    ]);
  });

  it('takes external ids with and without ext_; a link with the literal id takes precedence', async () => {
    const ids: string[] = [];
    for (const externalId of ['both', 'ext_both', 'ext_only']) ids.push((await aLink({ externalId })).id);
    const [bare, literal, only] = ids;
    const changed = async (...externalIds: string[]) => {
      const { status, body } = await bulkPatch({ externalIds, data: { title: externalIds.join() } });
      return status === 200 ? body.map(({ id }) => id) : status;
    };
    expect(await changed('both')).toEqual([bare]);
    expect(await changed('ext_both')).toEqual([literal]);
    expect(await changed('ext_both', 'both', 'ext_ext_both')).toEqual([literal, bare]);
    expect(await changed('ext_ext_only', 'ext_only')).toEqual([only]);
    for (const unknown of ['only', 'ext_', 'ext_ext_ext_both']) expect(await changed(unknown)).toBe(404);
  });

  it('accepts a hundred ids', async () => {
    const { id } = await aLink({ externalId: 'of-a-hundred' });
    const others = Array.from({ length: 99 }, () => 'none');
    for (const names of [{ linkIds: [...others, id] }, { externalIds: [...others, 'of-a-hundred'] }]) {
      const { status, body } = await bulkPatch({ ...names, data: { title: 'x' } });
      expect([status, body.map((link) => link.id)]).toEqual([200, [id]]);
    }
  });

  it('takes no image as data URL if one of the links has proxy then, and changes none', async () => {
    const links = [await aLink(), await aLink({ proxy: true, image: DATA_URL })];
    const linkIds = links.map(({ id }) => id);
    for (const data of [{ image: ` ${DATA_URL}` }, { image: DATA_URL, proxy: true, title: 'x' }]) {
      const answer = await bulkPatch({ linkIds, data });
      expect([answer.status, JSON.stringify(answer.body)]).toEqual([
        422,
        expect.stringContaining('invalid_combination: data.image: must be an http or https URL'),
      ]);
      for (const link of links) expect((await acme.get(`/links/${link.id}`)).body).toEqual(link);
    }
    const imageOf = async (data: object) => (await bulkPatch({ linkIds, data })).body.map(({ image }) => image);
    expect(await imageOf({ proxy: true })).toEqual([null, DATA_URL]);
    expect(await imageOf({ proxy: true, image: 'data:text/plain,x' })).toEqual([null, null]);
    expect(await imageOf({ proxy: false, image: DATA_URL })).toEqual([DATA_URL, DATA_URL]);
  });

  it('ignores fields that must be unique per link', async () => {
    const link = await aLink({ key: 'stays', externalId: 'stays' });
    const data = { key: 'x', domain: 'shared.example', externalId: 'y', title: 'Title' };
    const { body } = await bulkPatch({ linkIds: [link.id], data });
    expect(body[0]).toMatchObject({ key: 'stays', domain: acme.host, externalId: 'stays', title: 'Title' });
  });

  it.each([
    ['no ids', { data: {} }, 400, 'bad_request'],
    ['empty lists', { linkIds: [], externalIds: [], data: {} }, 400, 'bad_request'],
    ['no data', { linkIds: ['x'] }, 400, 'bad_request'],
    ['101 ids', { linkIds: Array.from({ length: 101 }, () => 'x'), data: {} }, 422, 'unprocessable_entity'],
    [
      '101 external ids',
      { externalIds: Array.from({ length: 101 }, () => 'x'), data: {} },
      422,
      'unprocessable_entity',
    ],
    ['only unknown ids', { linkIds: ['link_zzzzzzzzzzz', 'x'], data: {} }, 404, 'not_found'],
  ])('refuses %s', async (_what, body, status, code) => {
    expect(codeOf(await bulkPatch(body))).toEqual([status, code]);
  });

  it('changes no link when one of them is invalid', async () => {
    const links = [await aLink(), await aLink({ trackConversion: true })];
    const testVariants = [50, 50].map((percentage) => ({ url: 'https://a.com', percentage }));
    const linkIds = links.map(({ id }) => id);
    const data = { title: 'x', testVariants };
    expect(codeOf(await bulkPatch({ linkIds, data }))).toEqual([422, 'unprocessable_entity']);
    for (const link of links) expect((await acme.get(`/links/${link.id}`)).body).toEqual(link);
  });

  it('loses no field when concurrent with single updates', async () => {
    const links = await Promise.all(Array.from({ length: 5 }, () => aLink()));
    const linkIds = links.map(({ id }) => id);
    await Promise.all([
      bulkPatch({ linkIds, data: { title: 'title' } }),
      bulkPatch({ linkIds: [...linkIds].reverse(), data: { comments: 'comments' } }),
      ...linkIds.map((id) => acme.call('PATCH', `/links/${id}`, { description: 'description' })),
    ]);
    for (const id of linkIds) {
      const { body } = await acme.get(`/links/${id}`);
      expect(body).toMatchObject({ title: 'title', comments: 'comments', description: 'description' });
    }
  });
});

describe('links in folders without write access', () => {
  let member: Caller;
  let folderId: string;
  beforeAll(async () => {
    member = await withKey(management, acme, 'member');
    const folder = { name: 'Read only', accessLevel: 'read' as const };
    folderId = (await management.catalog.folders.create(acme.workspaceId, folder)).id;
  });
  const fault = (link: Link) => ({
    link: { id: link.id },
    error: 'You are not allowed to change links of the folder "Read only".',
    code: 'forbidden',
  });

  it('are listed unchanged in the response of a bulk update, after the updated ones', async () => {
    const [closed, open, other] = [await aLink({ folderId }), await aLink(), await aLink({ folderId })];
    const linkIds = [closed, open, other].map(({ id }) => id);
    const { status, body } = await bulkPatch({ linkIds, data: { comments: 'all' } }, member);
    expect(status).toBe(200);
    expect(body).toEqual([
      { ...open, comments: 'all', updatedAt: expect.any(String) },
      { ...closed, ...fault(closed) },
      { ...other, ...fault(other) },
    ]);
    for (const link of [closed, other]) expect((await acme.get(`/links/${link.id}`)).body).toEqual(link);
    const none = await bulkPatch({ linkIds: [closed.id], data: { comments: 'all' } }, member);
    expect(none).toEqual({ status: 200, body: [{ ...closed, ...fault(closed) }] });
  });

  it('reject a bulk update that would move links into one', async () => {
    const open = await aLink();
    expect(codeOf(await bulkPatch({ linkIds: [open.id], data: { folderId } }, member))).toEqual([403, 'forbidden']);
    expect((await acme.get(`/links/${open.id}`)).body).toEqual(open);
  });

  it('stay, and are listed in the response of a bulk deletion; the others are deleted', async () => {
    const [closed, open] = [await aLink({ folderId }), await aLink()];
    const query = `?linkIds=${closed.id},${open.id},link_zzzzzzzzzzz`;
    expect(await bulkDelete(query, member)).toEqual({
      status: 200,
      body: { deletedCount: 1, errors: [fault(closed)] },
    });
    expect((await acme.get(`/links/${open.id}`)).status).toBe(404);
    expect((await acme.get(`/links/${closed.id}`)).body).toEqual(closed);
    expect(await bulkDelete(query)).toEqual({ status: 200, body: { deletedCount: 1 } });
  });
});
