import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { aWorkspace, startQuery, type TestQuery, TestWorkspace } from '../test-query.js';
import { aFilterWorld, expectAnswers, type FilterWorld } from './filter-world.js';

let query: TestQuery;
let world: FilterWorld;

beforeAll(async () => {
  query = await startQuery();
  world = await aFilterWorld(query);
});
afterAll(() => query.close());

/** Parameters, and the events that match. */
const FAMILIES: Record<string, readonly (readonly [string, string])[]> = {
  linkId: [
    ['linkId={shop}', 'shop'],
    ['linkId={shop},{blog}', 'shop blog'],
    ['linkId={shop}&linkId={blog}', 'blog'],
    ['linkId=-{shop}', 'blog root bare'],
    ['linkId=-{shop},{blog}', 'root bare'],
    ['linkId={shop},{blog},-{blog}', 'shop'],
    ['linkId=,{shop},,', 'shop'],
    ['linkId=,,', 'shop blog root bare'],
    ['linkId=link_00000000000', ''],
    ['linkId=link_none', ''],
    ['linkId=-link_none', 'shop blog root bare'],
    ['linkId=shop', ''],
    ['linkId=-shop', 'shop blog root bare'],
    ['linkId={shop},{news}', 'shop'],
    ['linkId=nope,-{blog}', ''],
    ['linkId=%00nope,{blog}', 'blog'],
    ['linkId=-%00nope,{blog}', 'shop root bare'],
    ['linkId={shop}&externalId=ext_none&domain={host}&key=none', 'shop'],
  ],
  domain: [
    ['domain={host}', 'shop blog root'],
    ['domain={otherHost},{host}', 'shop blog root bare'],
    ['domain=-{host}', 'bare'],
    ['domain={host},-{host}', ''],
    ['domain=-{host},{otherHost}', ''],
    ['domain=none.example', ''],
    ['domain=https://acme.com', '422 domain'],
  ],
  'key and domain': [
    ['domain={host}&key=shop', 'shop'],
    ['domain={host}&key=SHOP', 'shop'],
    ['domain={host},{otherHost}&key=shop', 'shop'],
    ['domain={host}&key=_root', 'root'],
    ['domain={host}&key=none', '404 Link not found.'],
    ['domain={otherHost}&key=shop', '404 Link not found.'],
    ['key=shop', '400 key'],
    ['key=shop&domain=-{host}', '400 key'],
  ],
  externalId: [
    ['externalId=ext_ours/1', 'shop'],
    ['externalId=ours/1', '400 externalId'],
    ['externalId=ext_ours/1&domain={otherHost}', 'shop'],
    ['externalId=ext_none', '404 Link not found.'],
    ['externalId=none', '400 externalId'],
  ],
  tenantId: [
    ['tenantId=tenant-1', 'shop'],
    ['tenantId=-tenant-1', 'blog root bare'],
    ['tenantId=none,tenant-1,-none', 'shop'],
    ['tenantId=Tenant-1', ''],
    ['tenantId=-', 'shop blog root bare'],
  ],
  tagId: [
    ['tagId={news}', 'shop'],
    ['tagId={news},{sale}', 'shop blog'],
    ['tagId=-{news}', 'blog root bare'],
    ['tagId=-{news},{sale}', 'root bare'],
    ['tagId={sale},-{news}', 'blog'],
    ['tagId=tag_none', ''],
    ['tagId=-tag_none', 'shop blog root bare'],
    ['tagId=news', ''],
    ['tagId=-news', 'shop blog root bare'],
    ['tagId={shop}', ''],
  ],
  'tagIds (deprecated)': [
    ['tagIds={news}', 'shop'],
    ['tagIds={news}&tagIds={sale}', 'shop blog'],
    ['tagIds=-{news}', 'blog root bare'],
    ['tagIds={news}&tagId={sale}', 'shop blog'],
    ['tagIds=news', ''],
    ['tagIds=-news', 'shop blog root bare'],
  ],
  folderId: [
    ['folderId={spring}', 'shop'],
    ['folderId={spring},{secret}', 'shop blog'],
    ['folderId=-{spring}', 'blog root bare'],
    ['folderId=-{spring},{secret}', 'root bare'],
    ['folderId={spring},-{secret}', 'shop'],
    ['folderId={spring},fold_none', 'shop'],
    ['folderId=,-,', 'shop blog root bare'],
    ['folderId=fold_none', '404 Folder not found.'],
    ['folderId=-fold_none', '404 Folder not found.'],
    ['folderId=fold_none,{spring}', '404 Folder not found.'],
    ['folderId=nonsense', '404 Folder not found.'],
  ],
  partnerId: [
    ['partnerId={ada}', 'shop'],
    ['partnerId={ada},{ben}', 'shop blog'],
    ['partnerId=-{ada}', 'blog root bare'],
    ['partnerId={ada},{ben},-{ada}', 'blog'],
    ['partnerId=pn_none', ''],
    ['partnerId=ada', ''],
    ['partnerId=-ada', 'shop blog root bare'],
  ],
  partnerTagId: [
    ['partnerTagId={podcast}', 'shop blog'],
    ['partnerTagId={video}', 'blog'],
    ['partnerTagId=-{video}', 'shop root bare'],
    ['partnerTagId=-{video},{podcast}', 'root bare'],
    ['partnerTagId={podcast},-{video}', 'shop'],
    ['partnerTagId=ptag_none', ''],
    ['partnerTagId={news}', ''],
    ['partnerTagId=-{news}', 'shop blog root bare'],
  ],
  groupId: [
    ['groupId={gold}', 'shop'],
    ['groupId={gold},{silver}', 'shop blog'],
    ['groupId=-{gold}', 'blog root bare'],
    ['groupId={gold},{silver},-{gold}', 'blog'],
    ['groupId=grp_none', ''],
    ['groupId=gold', ''],
    ['groupId=-gold', 'shop blog root bare'],
  ],
  'programId (deprecated)': [
    ['programId={program}', 'shop'],
    ['programId=prog_none', ''],
    ['programId=nonsense', ''],
  ],
  root: [
    ['root=true', 'root'],
    ['root=FALSE', 'shop blog bare'],
    ['root=', 'shop blog root bare'],
    ['root=yes', '400 root'],
    ['root=1', '400 root'],
  ],
  'several together': [
    ['domain={host}&tagId={sale}&partnerTagId=-{video}', 'shop'],
    ['groupId={gold}&folderId={secret}', ''],
    ['linkId={shop},{blog}&tagId=-{news}', 'blog'],
    ['root=false&groupId=-{gold},{silver}', 'bare'],
  ],
};

test.each(Object.entries(FAMILIES))('%s', async (_name, answers) => {
  await expectAnswers(world, answers);
});

test('an id that no record can have is answered without a statement', async () => {
  const many = Array.from({ length: 1000 }, (_, index) => `nope-${index}`).join(',');
  const parameters = ['linkId', 'tagId', 'tagIds', 'partnerId', 'partnerTagId', 'groupId'].flatMap((name) => [
    `${name}=nope`,
    `${name}=${many}`,
    `${name}=%00`,
  ]);
  await world.ask('linkId={shop}');
  const rows = vi.spyOn(query.database.client, 'rows');
  try {
    await expectAnswers(
      world,
      [...parameters, 'customerId=nope'].flatMap((each) => [
        [each, ''] as const,
        [`${each}&event=leads`, ''] as const,
        [`${each}&event=sales&page=9007199254740991`, ''] as const,
      ]),
    );
    expect(rows).not.toHaveBeenCalled();
  } finally {
    rows.mockRestore();
  }
});

test('leads and sales are filtered by their link, like clicks', async () => {
  await expectAnswers(world, [
    ['event=leads&groupId={silver}', 'blog'],
    ['event=leads&partnerTagId=-{video}', 'shop'],
    ['event=sales&folderId=-{spring}', 'blog'],
    ['event=sales&tagId={sale}', 'shop blog'],
  ]);
});

test.each([
  ['münchen', ['münchen', 'MÜNCHEN', '/münchen/', 'xn--mnchen-3ya', 'XN--Mnchen-3ya', '/xn--mnchen-3ya']],
  ['blog/münchen', ['blog/münchen', '/Blog/MÜNCHEN/', 'blog/xn--mnchen-3ya', 'xn--blog/mnchen-yhb']],
  ['Try', ['try', '/try/', '//TRY']],
])('beside a domain, the key of the link %s has all forms that visits have', async (stored, keys) => {
  const workspace = await aWorkspace(query);
  await workspace.aLink({ key: 'other' });
  const link = await workspace.aLink({ key: stored });
  await workspace.store({ clicks: [workspace.click(link, 1)] });
  for (const key of keys) {
    const { status, body } = await workspace.events({ domain: workspace.host, key });
    expect([key, status, body.map((event) => event.link.id)]).toEqual([key, 200, [link.id]]);
    expect((await workspace.analytics({ domain: workspace.host, key })).body).toMatchObject({ clicks: 1 });
  }
});

test.each([
  ['deactivated', 'expiresAt'],
  ['banned', 'disabledAt'],
] as const)('the link in an event shows that its partner is %s', async (status, field) => {
  const { partners, links } = query.catalog;
  const workspace = await aWorkspace(query);
  const partner = await partners.create(workspace.id, { name: 'Ada' });
  const link = await workspace.aLink({ key: 'a', partnerId: partner.id, programId: partner.programId });
  const customer = await workspace.aCustomer({ externalId: 'c' });
  const click = workspace.click(link, 3);
  await workspace.store({
    ...{ clicks: [click], leads: [workspace.lead(click, customer, 2)] },
    sales: [workspace.sale(click, customer, 1)],
  });
  const shown = async (event: string) => (await workspace.events({ event })).body[0]?.link;
  for (const event of ['clicks', 'leads', 'sales']) expect((await shown(event))?.[field]).toBeNull();
  const bannedAt = '2026-11-21T14:00:00.000Z';
  await partners.update(workspace.id, partner.id, () => ({ status, bannedAt, bannedReason: null }));
  for (const event of ['clicks', 'leads', 'sales']) expect((await shown(event))?.[field]).toBe(bannedAt);
  expect((await links.get(workspace.id, link.id))?.[field]).toBe(bannedAt);
});

test('filters apply to the current state of the link', async () => {
  const other = await aFilterWorld(query);
  const { workspace, names } = other;
  await query.catalog.links.update(workspace.id, names.blog!, (link) => ({ ...link, tagIds: [], tenantId: 'moved' }));
  await expectAnswers(other, [
    ['tagId={sale}', 'shop'],
    ['tenantId=moved', 'blog'],
  ]);
});

describe('a folder', () => {
  const asRole = async (role: 'member' | 'viewer') => {
    const { workspace } = world;
    const key = { workspaceId: workspace.id, name: role, kind: 'secret' as const, role, scopes: [] };
    const { token } = await query.catalog.keys.create(key);
    return new TestWorkspace(query, workspace.id, token, workspace.host);
  };

  test('without access for members is forbidden to all but owners, included or excluded', async () => {
    const member = await asRole('member');
    for (const sign of ['', '-']) {
      const answer = await member.events({ folderId: `${sign}${world.names.secret}` });
      expect(answer).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } });
      expect((await member.events({ folderId: `${sign}${world.names.spring}` })).status).toBe(200);
    }
  });

  test('of another workspace is not found', async () => {
    const other = await aWorkspace(query);
    const folder = await query.catalog.folders.create(other.id, { name: 'Spring' });
    expect((await other.events({ folderId: folder.id })).status).toBe(200);
    expect((await world.workspace.events({ folderId: folder.id })).status).toBe(404);
  });
});

test('tags, groups and partners of another workspace match nothing', async () => {
  const other = await aFilterWorld(query);
  for (const [parameter, name] of [
    ['tagId', 'news'],
    ['groupId', 'gold'],
    ['partnerTagId', 'podcast'],
    ['partnerId', 'ada'],
  ] as const) {
    const answer = await world.workspace.events({ [parameter]: other.names[name]! });
    expect([answer.status, answer.body], parameter).toEqual([200, []]);
  }
});
