import { type Link, linkSchema } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Answer,
  aCaller,
  type Caller,
  startManagement,
  type TestManagement,
  withKey,
} from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let stranger: Caller;
let sale: string;
let news: string;

beforeAll(async () => {
  management = await startManagement();
  [acme, stranger] = await Promise.all([aCaller(management), aCaller(management)]);
  const { tags } = management.catalog;
  sale = (await tags.create(acme.workspaceId, { name: 'Sale', color: 'red' })).id;
  news = (await tags.create(acme.workspaceId, { name: 'News', color: 'blue' })).id;
  await tags.create(acme.workspaceId, { name: 'Red, green', color: 'red' });
});
afterAll(() => management.close());

const URL_A = 'https://acme.com/a';
const codeOf = ({ status, body }: Answer) => [status, body.error?.code];
const tagsOf = ({ status, body }: Answer) => {
  expect(status).toBe(200);
  return linkSchema.parse(body).tags.map(({ name }) => name);
};

describe('tags of a link', () => {
  it.each([
    ['ids in an array', () => ({ tagIds: [sale, news, sale] }), ['Sale', 'News']],
    ['ids as csv', () => ({ tagIds: `${news}, ${sale}` }), ['News', 'Sale']],
    ['names in any case', () => ({ tagNames: ['sALE', 'news'] }), ['Sale', 'News']],
    ['one name', () => ({ tagNames: 'news' }), ['News']],
    ['names as csv', () => ({ tagNames: 'news, ,sale' }), ['News', 'Sale']],
    ['names in an array, commas and all', () => ({ tagNames: [' red, green ', ' ', 'sale'] }), ['Red, green', 'Sale']],
    ['ids and names together', () => ({ tagIds: [sale], tagNames: ['Red, green', 'SALE'] }), ['Sale', 'Red, green']],
    ['names beside no ids', () => ({ tagIds: null, tagNames: ['news'] }), ['News']],
    ['the deprecated id and names', () => ({ tagId: sale, tagNames: 'news' }), ['Sale', 'News']],
    ['ids, which beat the deprecated id', () => ({ tagIds: [news], tagId: sale }), ['News']],
    ['null for the ids, which beats the deprecated id', () => ({ tagIds: null, tagId: sale }), []],
    ['the deprecated id', () => ({ tagId: sale }), ['Sale']],
    ['no names, which beat the deprecated id', () => ({ tagNames: [], tagId: sale }), []],
    ['an empty text of names, which beats it too', () => ({ tagNames: ' ', tagId: sale }), []],
    ['null for the names, which beats it too', () => ({ tagNames: null, tagId: sale }), []],
    ['ids beside no names', () => ({ tagIds: [sale], tagNames: [] }), ['Sale']],
    ['none', () => ({ tagIds: [] }), []],
    ['null', () => ({ tagId: null }), []],
  ])('are given by %s', async (_what, fields, names) => {
    expect(tagsOf(await acme.post({ url: URL_A, ...fields() }))).toEqual(names);
  });

  it('can be set by ids and names together on every route that writes links', async () => {
    const both = { tagIds: [news], tagNames: 'sale' };
    const { body: link } = await acme.post({ url: 'https://acme.com/tagged' });
    const other = { url: URL_A, tagIds: [], tagNames: null };
    const ways: [string, () => Promise<Answer | Answer<Answer['body'][]>>][] = [
      ['create', () => acme.post({ url: URL_A, ...both })],
      ['update', () => acme.call('PATCH', `/links/${link.id}`, both)],
      ['upsert', () => acme.call('PUT', '/links/upsert', { url: link.url, ...both })],
      ['bulk create', () => acme.call('POST', '/links/bulk', [{ url: URL_A, ...both }, other])],
      ['bulk update', () => acme.call('PATCH', '/links/bulk', { linkIds: [link.id], data: both })],
    ];
    for (const [way, write] of ways) {
      const { status, body } = await write();
      const [written] = Array.isArray(body) ? body : [body];
      expect([way, ...tagsOf({ status, body: written as Answer['body'] })]).toEqual([way, 'News', 'Sale']);
      await acme.call('PATCH', `/links/${link.id}`, { tagIds: [] });
    }
  });

  it.each(['PATCH', 'PUT'] as const)('all stay when a link is sent back as it was answered: %s', async (method) => {
    const { body: link } = await acme.post({ url: 'https://acme.com/?flag', tagIds: [sale, news], utm_source: 'a+b' });
    expect(link.tagId).toBe(sale);
    expect((await acme.call(method, `/links/${link.id}`, { ...link })).body).toEqual(link);
    // The SDK leaves `tags` out.
    const { tags: _tags, ...sent } = link;
    const { body } = await acme.call<Link>(method, `/links/${link.id}`, { ...sent, title: 'x' });
    expect(body).toEqual({ ...link, title: 'x', updatedAt: body.updatedAt });
  });

  it.each([[[]], [''], [null]])(
    'are all removed by tagNames %j when a link is sent back with its tagId',
    async (tagNames) => {
      const { body: link } = await acme.post({ url: URL_A, tagIds: [sale, news] });
      expect(tagsOf(await acme.call('PATCH', `/links/${link.id}`, { ...link, tagNames }))).toEqual([]);
      const twice = { tagNames, tagId: sale };
      for (const _time of [1, 2]) expect(tagsOf(await acme.call('PATCH', `/links/${link.id}`, twice))).toEqual([]);
    },
  );

  it('are replaced by another deprecated id, by the same one beside names, and in bulk changes', async () => {
    const { body: link } = await acme.post({ url: URL_A, tagIds: [sale, news] });
    const change = async (fields: object) => tagsOf(await acme.call('PATCH', `/links/${link.id}`, fields));
    expect(await change({ tagId: sale })).toEqual(['Sale', 'News']);
    expect(await change({ tagId: sale, tagNames: ['Red, green'] })).toEqual(['Sale', 'Red, green']);
    expect(await change({ tagIds: [sale, news], tagId: sale })).toEqual(['Sale', 'News']);
    expect(await change({ tagIds: [sale], tagId: sale })).toEqual(['Sale']);
    expect(await change({ tagIds: [sale, news] })).toEqual(['Sale', 'News']);
    const bulk = { linkIds: [link.id], data: { tagId: sale } };
    expect((await acme.call<Answer['body'][]>('PATCH', '/links/bulk', bulk)).body[0]?.tags).toHaveLength(1);
    expect(await change({ tagIds: [sale, news] })).toEqual(['Sale', 'News']);
    expect(await change({ tagId: news })).toEqual(['News']);
    expect(await change({ tagId: null })).toEqual([]);
  });

  it('that do not exist are listed in the error', async () => {
    const unknown = [{ tagIds: ['tag_x', sale] }, { tagNames: 'tag_x' }, { tagId: 'tag_x' }];
    for (const fields of [...unknown, { tagIds: [sale], tagNames: ['tag_x'] }]) {
      const answer = await acme.post({ url: URL_A, ...fields });
      expect(codeOf(answer)).toEqual([422, 'unprocessable_entity']);
      expect(answer.body.error.message).toContain('tag_x');
    }
    expect(codeOf(await stranger.post({ url: URL_A, tagIds: [sale] }))).toEqual([422, 'unprocessable_entity']);
  });

  it('include the first one as the deprecated tagId', async () => {
    const { body } = await acme.post({ url: URL_A, tagIds: [sale, news] });
    expect(body.tags).toEqual([
      { id: sale, name: 'Sale', color: 'red' },
      { id: news, name: 'News', color: 'blue' },
    ]);
    expect(body.tagId).toBe(sale);
    expect((await acme.get(`/links/${body.id}`)).body).toEqual(body);
  });
});

describe('the folder of a link', () => {
  it('must exist in the workspace', async () => {
    const folder = await management.catalog.folders.create(acme.workspaceId, { name: 'Spring' });
    expect((await acme.post({ url: URL_A, folderId: folder.id })).body.folderId).toBe(folder.id);
    expect((await acme.post({ url: URL_A, folderId: '' })).body.folderId).toBeNull();
    expect(codeOf(await acme.post({ url: URL_A, folderId: 'fold_x' }))).toEqual([404, 'not_found']);
    expect(codeOf(await stranger.post({ url: URL_A, folderId: folder.id }))).toEqual([404, 'not_found']);
  });

  it.each(['read', null] as const)('with access level %s can be changed only by owners', async (accessLevel) => {
    const { catalog } = management;
    const folder = await catalog.folders.create(acme.workspaceId, { name: `Closed ${accessLevel}`, accessLevel });
    const member = await withKey(management, acme, 'member');
    const { body: link } = await acme.post({ url: URL_A, folderId: folder.id });
    expect(codeOf(await member.post({ url: URL_A, folderId: folder.id }))).toEqual([403, 'forbidden']);
    const { body: open } = await member.post({ url: URL_A });
    expect(codeOf(await member.call('PATCH', `/links/${open.id}`, { folderId: folder.id }))).toEqual([
      403,
      'forbidden',
    ]);
    // A link in a hidden folder is not found.
    const refusal = accessLevel === null ? [404, 'not_found'] : [403, 'forbidden'];
    expect(codeOf(await member.call('PATCH', `/links/${link.id}`, { title: 'x' }))).toEqual(refusal);
    expect(codeOf(await member.call('DELETE', `/links/${link.id}`))).toEqual(refusal);
    expect((await acme.get(`/links/${open.id}`)).status).toBe(200);
  });
});

describe('the partner of a link', () => {
  it('is that of partnerId, or the approved one of the tenant; the program is the workspace’s', async () => {
    const { catalog } = management;
    const { workspaceId } = acme;
    const programId = 'prog_00000000001';
    await catalog.workspaces.update(workspaceId, { defaultProgramId: programId });
    const ada = await catalog.partners.create(workspaceId, { name: 'Ada', tenantId: 'ada', programId });
    await catalog.partners.create(workspaceId, { name: 'Eve', tenantId: 'eve', programId, status: 'pending' });
    const create = async (fields: object) => {
      const { status, body } = await acme.post({ url: URL_A, ...fields });
      return status === 200 ? [body.partnerId, body.programId, body.tenantId] : [status];
    };
    expect(await create({ partnerId: ada.id })).toEqual([ada.id, programId, null]);
    expect(await create({ tenantId: 'ada' })).toEqual([ada.id, programId, 'ada']);
    expect(await create({ tenantId: 'ada', partnerId: null })).toEqual([null, null, 'ada']);
    expect(await create({ tenantId: 'eve' })).toEqual([null, null, 'eve']);
    expect(await create({ tenantId: 'nobody' })).toEqual([null, null, 'nobody']);
    expect(await create({ programId })).toEqual([null, programId, null]);
    expect(await create({ programId: 'prog_x' })).toEqual([404]);
    expect(await create({ partnerId: 'pn_x' })).toEqual([404]);
  });

  it('stays in its program when a change sets programId to null, until it sets partnerId to null as well', async () => {
    const { catalog } = management;
    const programId = 'prog_00000000002';
    const bob = await catalog.partners.create(acme.workspaceId, { name: 'Bob', programId });
    const { id } = (await acme.post({ url: URL_A, partnerId: bob.id })).body;
    const change = async (fields: object) => {
      const { body } = await acme.call<Link>('PATCH', `/links/${id}`, fields);
      return [body.partnerId, body.programId];
    };
    expect(await change({ programId: null })).toEqual([bob.id, programId]);
    expect(await change({ programId: null, partnerId: null })).toEqual([null, null]);
    expect(await change({ partnerId: bob.id })).toEqual([bob.id, programId]);
    expect(await change({ partnerId: null })).toEqual([null, programId]);
    expect(await change({ programId: null })).toEqual([null, null]);
  });
});

describe('webhooks of a link', () => {
  it('must exist', async () => {
    const answer = await acme.post({ url: URL_A, webhookIds: ['wh_x'] });
    expect(codeOf(answer)).toEqual([422, 'unprocessable_entity']);
    expect(answer.body.error.message).toContain('wh_x');
  });
});

it('errors are reported in the order of the checks', async () => {
  const wrong: [string, object, number][] = [
    ['expiresAt', { expiresAt: 'never' }, 422],
    ['webhookIds', { webhookIds: ['wh_x'] }, 422],
    ['Program', { programId: 'prog_x' }, 404],
    ['Folder', { folderId: 'fold_x' }, 404],
    ['tag', { tagIds: ['tag_x'] }, 422],
    ['key', { key: 'a b' }, 422],
    ['domain', { domain: 'elsewhere.example' }, 403],
    ['geo', { geo: { fr: 'https://a.com' } }, 422],
    ['url', { url: 'nonsense' }, 422],
    ['testVariants', { testVariants: [] }, 422],
  ];
  let body = { url: URL_A };
  for (const [what, fields, status] of wrong) {
    body = { ...body, ...fields };
    const answer = await acme.post(body);
    expect([what, answer.status]).toEqual([what, status]);
    expect(answer.body.error.message).toContain(what);
  }
});

describe('a folder, tag or webhook that is removed while links are written', () => {
  it('is on no link afterwards, however the link came to it', async () => {
    const { body: link } = await acme.post({ url: 'https://acme.com/changed' });
    const statuses: number[] = [];
    for (let round = 0; round < 4; round++) {
      const { catalog } = management;
      const [folder, tag, { body: webhook }] = await Promise.all([
        acme.call<{ id: string }>('POST', '/folders', { name: `Removed ${round}` }),
        catalog.tags.create(acme.workspaceId, { name: `Removed ${round}`, color: 'red' }),
        acme.call<{ id: string }>('POST', '/webhooks', {
          name: 'Removed',
          url: `https://hooks.acme.com/${round}`,
          ...{ triggers: ['link.clicked'], linkScope: 'links' },
        }),
      ]);
      const gone = [folder.body.id, tag.id, webhook.id];
      const [folderId, tagId, webhookId] = gone;
      const fields = { url: URL_A, folderId, tagIds: [tagId], webhookIds: [webhookId] };
      const answers = await Promise.all([
        ...[{ folderId }, { tagIds: [tagId] }, { webhookIds: [webhookId] }, fields].flatMap((some) => [
          acme.post({ url: URL_A, ...some }),
          acme.call(
            'POST',
            '/links/bulk',
            [1, 2].map(() => ({ url: URL_A, ...some })),
          ),
          acme.call('PATCH', `/links/${link.id}`, some),
        ]),
        acme.call('DELETE', `/folders/${folderId}`),
        acme.call('DELETE', `/tags/${tagId}`),
        acme.call('DELETE', `/webhooks/${webhookId}`),
      ]);
      const [writes, removals] = [answers.slice(0, -gone.length), answers.slice(-gone.length)];
      expect(removals.map(({ status }) => status)).toEqual([200, 200, 200]);
      statuses.push(...writes.map(({ status }) => status));
      const links = await catalog.links.getMany(acme.workspaceId, await linkIds());
      const kept = [...links.values()].flatMap(({ folderId, tagIds, webhookIds }) => [
        folderId,
        ...tagIds,
        ...webhookIds,
      ]);
      expect(gone.filter((id) => kept.includes(id))).toEqual([]);
    }
    // Written before the removal, or refused after it.
    expect(statuses.filter((status) => ![200, 404, 422].includes(status))).toEqual([]);
    expect(statuses).toContain(200);
  });
});

async function linkIds(): Promise<string[]> {
  const { body } = await acme.get<{ id: string }[]>('/links?pageSize=100');
  return body.map(({ id }) => id);
}
