import { storedKey } from '@waymark/catalog';
import {
  type Link,
  linkSchema,
  type Partner,
  type PartnerLink,
  parseResourceId,
  partnerSchema,
} from '@waymark/contract';
import { aClick, aSale, insertClicks, insertSales } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Answer,
  aCaller,
  type Caller,
  callerWith,
  startManagement,
  statusesOf,
  type TestManagement,
  withKey,
} from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let next = 0;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

const codeOf = ({ status, body }: Answer<{ error?: { code: string } }>) => [status, body.error?.code];
const anEmail = () => `partner${next++}@example.com`;
const enrol = (caller: Caller, body: object = {}) =>
  caller.call<Partner>('POST', '/partners', { email: anEmail(), ...body });

async function programOf(caller: Caller) {
  const workspace = await management.catalog.workspaces.get(caller.workspaceId);
  return management.catalog.programs.require(caller.workspaceId, workspace?.defaultProgramId ?? '');
}

describe('POST /partners', () => {
  it('answers 201 with the partner and a first link on the program, named after the partner', async () => {
    const email = anEmail();
    const { status, body } = await enrol(acme, { email, name: 'Ada Lovelace', country: 'gb' });
    expect(status).toBe(201);
    const program = await programOf(acme);
    expect(partnerSchema.parse(body)).toMatchObject({
      ...{ email, name: 'Ada Lovelace', country: 'GB', status: 'approved', programId: program.id, partnerId: body.id },
      ...{ groupId: program.defaultGroupId, totalClicks: 0, tags: [] },
    });
    expect(body.links).toMatchObject([{ domain: acme.host, key: 'ada-lovelace', url: `https://${acme.host}` }]);
    const link = await management.catalog.links.get(acme.workspaceId, body.links?.[0]?.id ?? '');
    expect(link).toMatchObject({ trackConversion: true, partnerId: body.id, programId: program.id });
  });

  it('derives the key from the username, else the name, else the email, with a suffix when it is taken', async () => {
    const keyOf = async (body: object) => (await enrol(acme, body)).body.links?.[0]?.key;
    expect(await keyOf({ username: 'Wished', name: 'Other' })).toBe('Wished');
    expect(await keyOf({ username: 'wished' })).toMatch(/^wished-[a-z0-9]{4}$/);
    expect((await enrol(acme, { username: '//a/b/' })).body).toMatchObject({
      username: 'a/b',
      links: [{ key: 'a/b' }],
    });
    expect(await keyOf({ name: 'Zoë D’Été' })).toBe('zoe-d-ete');
    expect(await keyOf({ email: 'no.name+tag@example.com' })).toBe('no-name-tag');
    expect(await keyOf({ name: '\u{10400} \u{10401}', email: 'deseret@example.com' })).toBe('deseret');
    expect(await keyOf({ name: '\u337f'.repeat(100) })).toMatch(/^xn--/);
    // Their vowels and voicing are marks, as accents are.
    for (const name of ['राम कुमार', 'สมชาย ใจดี', 'ダイキ', '김민수', 'שרה'])
      expect(await keyOf({ name })).toBe(storedKey(name.replace(' ', '-')));
    // Marks that are not typed in URLs; some are invisible.
    const typed = [
      ['Acme\u2122\ufe0f', 'acmetm'],
      ['Team 1\ufe0f\u20e3', 'team-1'],
      ['\u845b\u{e0100}\u57ce', '\u845b\u57ce'],
      ['\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f', 'mhmd'],
      ['\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd', '\u05e9\u05dc\u05d5\u05dd'],
    ];
    for (const [name, key = ''] of typed) expect(await keyOf({ name })).toBe(storedKey(key));
  });

  it.each([
    ['Søren Łukasz Groß', 'soren-lukasz-gross'],
    ['Ægir Þór Đorđević', 'aegir-thor-dordevic'],
    ['Işıl İnce', 'isil-ince'],
    ['Jo\u0308rg Müller', 'joerg-mueller'],
    ['Γιώργος Елена', 'giorgos-elena'],
    ['Јелена Ђорђевић', 'jelena-djordjevic'],
    ['كريـم', 'krym'],
    ['رئيس', 'ryys'],
    ['Łukasz 太郎 Łukasz太郎', storedKey('lukasz-太郎-łukasz太郎')],
  ])('spells %s in Latin letters, except words with letters that have none', async (name, key) => {
    expect((await enrol(acme, { name })).body.links?.[0]?.key).toBe(key);
  });

  it('stores an email as written and compares it case-insensitively', async () => {
    const { body: first } = await enrol(acme, { email: 'Grace.Hopper@Example.com' });
    expect(first.email).toBe('Grace.Hopper@Example.com');
    expect(await enrol(acme, { email: 'grace.hopper@EXAMPLE.com' })).toEqual({ status: 201, body: first });
    const { body: listed } = await acme.call<Partner[]>('GET', '/partners?email=GRACE.hopper@example.com');
    expect(listed).toEqual([first]);
  });

  it('applies linkProps to the first link', async () => {
    const { body } = await enrol(acme, { tenantId: 'props', linkProps: { comments: 'VIP', archived: true } });
    const link = await management.catalog.links.get(acme.workspaceId, body.links?.[0]?.id ?? '');
    expect(link).toMatchObject({ comments: 'VIP', archived: true, tenantId: 'props' });
  });

  it('returns an existing partner, and replaces its tenantId', async () => {
    const email = anEmail();
    const { body: first } = await enrol(acme, { email, tenantId: 'tenant-a' });
    expect(await enrol(acme, { email })).toEqual({ status: 201, body: first });
    expect((await enrol(acme, { email, tenantId: 'tenant-a' })).body).toEqual(first);
    expect((await enrol(acme, { tenantId: 'tenant-a' })).body.id).toBe(first.id);
    const { body: moved } = await enrol(acme, { email, tenantId: 'tenant-b' });
    expect([moved.id, moved.tenantId]).toEqual([first.id, 'tenant-b']);
    const link = await management.catalog.links.get(acme.workspaceId, first.links?.[0]?.id ?? '');
    expect(link?.tenantId).toBe('tenant-b');
    await enrol(acme, { tenantId: 'tenant-c' });
    expect(codeOf(await enrol(acme, { email, tenantId: 'tenant-c' }))).toEqual([409, 'conflict']);
  });

  it('copies a tenantId to links that an interrupted request has left without it', async () => {
    const email = anEmail();
    const { body: partner } = await enrol(acme, { email });
    await management.catalog.partners.update(acme.workspaceId, partner.id, () => ({ tenantId: 'interrupted' }));
    const { body: again } = await enrol(acme, { email, tenantId: 'interrupted' });
    const link = await management.catalog.links.get(acme.workspaceId, again.links?.[0]?.id ?? '');
    expect([again.id, again.tenantId, link?.tenantId]).toEqual([partner.id, 'interrupted', 'interrupted']);
  });

  it('enrols one partner with one link for 20 concurrent requests with one email', async () => {
    const caller = await aCaller(management);
    const email = anEmail();
    expect(await statusesOf(20, () => enrol(caller, { email, name: 'Once' }))).toEqual({ 201: 20 });
    const { body } = await caller.call<Partner[]>('GET', '/partners');
    expect(body.map((partner) => partner.links?.length)).toEqual([1]);
  });

  it('a partner whose creation was interrupted before its link gets it when enrolled again', async () => {
    const email = anEmail();
    const { id } = await management.catalog.partners.create(acme.workspaceId, { name: 'Half', email });
    const { body } = await enrol(acme, { email });
    expect([body.id, body.links?.map(({ key }) => key)]).toEqual([id, ['half']]);
  });

  it('returns an existing partner even when its first link could not be created now', async () => {
    const caller = await aCaller(management, 'business');
    const body = { email: anEmail(), linkProps: { externalId: 'their-own' } };
    const { body: first } = await enrol(caller, body);
    expect(await enrol(caller, body)).toEqual({ status: 201, body: first });
    await management.catalog.workspaces.update(caller.workspaceId, { quotas: { linksPerMonth: 1 } });
    expect(codeOf(await enrol(caller))).toEqual([403, 'forbidden']);
    expect(await enrol(caller, body)).toEqual({ status: 201, body: first });
    const props = { ...body, linkProps: { expiresAt: 'whenever' } };
    expect(await enrol(caller, props)).toEqual({ status: 201, body: first });
  });

  it('enrols nobody with the external id of another link, or a key that is too long for a suffix', async () => {
    const caller = await aCaller(management);
    await caller.post({ url: 'https://acme.com', externalId: 'used' });
    expect(codeOf(await enrol(caller, { linkProps: { externalId: 'used' } }))).toEqual([409, 'conflict']);
    expect(codeOf(await enrol(caller, { username: '_root' }))).toEqual([422, 'unprocessable_entity']);
    expect((await caller.call('GET', '/partners')).body).toEqual([]);
  });

  it.each([
    ['no email', { email: undefined }, 400],
    ['an invalid email', { email: 'nonsense' }, 422],
    ['a name of 101 characters', { name: 'x'.repeat(101) }, 422],
    ['a username that is no key', { username: 'a b' }, 422],
    ['an unknown group', { groupId: 'grp_zzzzzzzzzzz' }, 404],
    ['props that no link can have', { linkProps: { expiresAt: 'whenever' } }, 422],
    ['a prefix that no key can have', { linkProps: { prefix: '_x' } }, 422],
    ['a prefix too long for any key', { linkProps: { prefix: 'x'.repeat(190) } }, 422],
  ])('%s is refused, and enrols nobody', async (_what, body, status) => {
    const caller = await aCaller(management);
    expect((await enrol(caller, body)).status).toBe(status);
    expect((await caller.call('GET', '/partners')).body).toEqual([]);
  });

  it('refuses more partners than the quota', async () => {
    const caller = await aCaller(management, 'business');
    await management.catalog.workspaces.update(caller.workspaceId, { quotas: { partners: 2 } });
    expect(await statusesOf(4, () => enrol(caller))).toEqual({ 201: 2, 403: 2 });
  });
});

describe('GET /partners', () => {
  it('lists by sales, with totals and links; supports other orders and filters', async () => {
    const caller = await aCaller(management);
    const workspaceId = parseResourceId('workspace', caller.workspaceId) ?? '';
    const partners: Partner[] = [];
    for (const [name, country] of [
      ['Ada', 'FR'],
      ['Bob', 'US'],
      ['Cleo', 'FR'],
    ]) {
      partners.push((await enrol(caller, { name, country, tenantId: name, email: `${name}@x.com` })).body);
    }
    const clickOf = (index: number, timestampMs: number) =>
      aClick({
        workspaceId,
        linkId: parseResourceId('link', partners[index]?.links?.[0]?.id ?? '') ?? '',
        timestampMs,
      });
    const clicks = [
      clickOf(0, Date.UTC(2026, 5, 1)),
      clickOf(0, Date.UTC(2026, 5, 2)),
      clickOf(1, Date.UTC(2026, 5, 3)),
    ];
    await insertClicks(management.database.client, clicks);
    await insertSales(management.database.client, [aSale({ click: clicks[2]!, amount: 900 })]);

    const list = async (query = '') => {
      const { status, body } = await caller.call<Partner[]>('GET', `/partners${query}`);
      expect(status).toBe(200);
      return partnerSchema.array().parse(body);
    };
    const names = async (query: string) => (await list(query)).map(({ name }) => name);
    const [bob] = await list();
    expect(bob).toMatchObject({ name: 'Bob', totalClicks: 1, totalSales: 1, totalSaleAmount: 900, netRevenue: 900 });
    expect(bob?.links).toMatchObject([{ clicks: 1, sales: 1, saleAmount: 900 }]);
    expect(await names('?sortBy=totalClicks')).toEqual(['Ada', 'Bob', 'Cleo']);
    expect(await names('?sortBy=clickToConversionRate')).toEqual(['Bob', 'Cleo', 'Ada']);
    expect(await names('?sortBy=earningsPerClick&sortOrder=asc')).toEqual(['Ada', 'Bob', 'Cleo']);
    expect(await names('?sortBy=createdAt')).toEqual(['Cleo', 'Bob', 'Ada']);
    expect(await names('?sortBy=createdAt&country=fr')).toEqual(['Cleo', 'Ada']);
    expect(await names('?country=-FR')).toEqual(['Bob']);
    expect(await names('?email=BOB@x.com')).toEqual(['Bob']);
    expect(await names('?tenantId=Ada')).toEqual(['Ada']);
    expect(await names('?search=cle')).toEqual(['Cleo']);
    expect(await names('?search=ADA@X.com')).toEqual(['Ada']);
    expect(await names(`?search=${partners[1]?.id}`)).toEqual(['Bob']);
    expect(await names(`?search=${partners[1]?.id}&sortBy=totalClicks`)).toEqual(['Bob']);
    expect(await names(`?search=${partners[1]?.id.slice(0, -1)}`)).toEqual([]);
    await enrol(caller, { username: 'the-fourth', tenantId: 'tenant-four', email: 'Four@x.com' });
    for (const search of ['the-FOURTH', 'tenant-f', 'four@X.com']) {
      expect(await names(`?search=${search}`)).toEqual(['Four@x.com']);
    }
    expect(await names('?search=four&country=FR')).toEqual([]);
    expect(await names('?status=banned')).toEqual([]);
    expect(await names('?status=approved&country=US')).toEqual(['Bob']);
    expect(await names(`?groupId=${bob?.groupId}&pageSize=1&page=3&sortBy=createdAt`)).toEqual(['Bob']);
    for (const sortBy of ['totalSaleAmount', 'createdAt', 'earningsPerClick'])
      expect(await names(`?sortBy=${sortBy}&page=9007199254740991`)).toEqual([]);
    expect((await caller.call('GET', '/partners?sortBy=name')).status).toBe(422);
  });
});

describe('links of partners', () => {
  it('are created on the program domain and listed with their counters', async () => {
    const { body: partner } = await enrol(acme, { tenantId: 'linker' });
    const wanted = { tenantId: 'linker', url: 'https://acme.com/pricing', key: 'special', comments: 'Hello' };
    const { status, body } = await acme.call<Link>('POST', '/partners/links', wanted);
    expect(status).toBe(201);
    expect(linkSchema.parse(body)).toMatchObject({
      ...{ domain: acme.host, key: 'special', url: 'https://acme.com/pricing', comments: 'Hello' },
      ...{ partnerId: partner.id, tenantId: 'linker', trackConversion: true },
    });
    const list = await acme.call<PartnerLink[]>('GET', `/partners/links?partnerId=${partner.id}`);
    expect(list.body.map(({ key }) => key)).toEqual([partner.links?.[0]?.key, 'special']);
    expect(codeOf(await acme.call('POST', '/partners/links', wanted))).toEqual([409, 'conflict']);
  });

  it('are found by their exact destination, or created, only once for concurrent requests', async () => {
    const { body: partner } = await enrol(acme);
    const upsert = (body: object) =>
      acme.call<Link>('PUT', '/partners/links/upsert', { partnerId: partner.id, url: 'https://acme.com/up', ...body });
    expect(await statusesOf(5, () => upsert({}))).toEqual({ 200: 5 });
    const { body } = await upsert({ comments: 'changed' });
    expect(body.comments).toBe('changed');
    const list = await acme.call<PartnerLink[]>('GET', `/partners/links?partnerId=${partner.id}`);
    expect(list.body.filter(({ url }) => url === 'https://acme.com/up')).toHaveLength(1);
    expect((await acme.call('PUT', '/partners/links/upsert', { partnerId: partner.id })).status).toBe(400);
  });

  it('must lead to the site of the program, if it has one', async () => {
    const caller = await aCaller(management);
    const { id } = await programOf(caller);
    await management.catalog.programs.update(caller.workspaceId, id, () => ({ url: 'https://www.shop.com/start' }));
    const { body: partner } = await enrol(caller);
    expect(partner.links?.[0]?.url).toBe('https://www.shop.com/start');
    const create = (url: string) => caller.call('POST', '/partners/links', { partnerId: partner.id, url });
    expect((await create('https://blog.shop.com/x')).status).toBe(201);
    expect(codeOf(await create('https://evil-shop.com'))).toEqual([400, 'bad_request']);
  });

  it('without a partner, of unknown partners and of other workspaces are rejected', async () => {
    const { body: partner } = await enrol(acme);
    const stranger = await aCaller(management);
    expect(codeOf(await acme.call('GET', '/partners/links'))).toEqual([400, 'bad_request']);
    expect(codeOf(await acme.call('GET', '/partners/links?tenantId=none'))).toEqual([404, 'not_found']);
    const path = `/partners/links?partnerId=${partner.id}`;
    expect(codeOf(await stranger.call('GET', path))).toEqual([404, 'not_found']);
  });
});

describe('status', () => {
  it('a ban needs a reason', async () => {
    const { body: partner } = await enrol(acme);
    expect((await acme.call('POST', '/partners/ban', { partnerId: partner.id, reason: 'x' })).status).toBe(422);
    expect((await acme.call('POST', '/partners/ban', { partnerId: partner.id })).status).toBe(400);
  });

  it('applications are pending, and can be approved or rejected once', async () => {
    const apply = (name: string) =>
      management.catalog.partners.create(acme.workspaceId, {
        ...{ name, email: anEmail(), status: 'pending' as const },
        applicationFormData: [{ label: 'Why?', value: 'Because' }],
      });
    const [good, bad] = [await apply('Good'), await apply('Bad')];
    const { body: listed } = await acme.call<{ id: string }[]>('GET', '/partners/applications');
    expect(listed.map(({ id }) => id)).toEqual([bad.id, good.id]);
    const decide = (what: string, body: object) => acme.call('POST', `/partners/applications/${what}`, body);
    expect((await decide('approve', { partnerId: good.id })).body).toEqual({ partnerId: good.id });
    expect((await decide('reject', { partnerId: bad.id, rejectionReason: 'other' })).body).toEqual({
      partnerId: bad.id,
    });
    expect(codeOf(await decide('approve', { partnerId: bad.id }))).toEqual([400, 'bad_request']);
    expect(codeOf(await decide('reject', { partnerId: 'pn_none' }))).toEqual([404, 'not_found']);
    expect((await acme.call('GET', '/partners/applications')).body).toEqual([]);
    const links = await acme.call<PartnerLink[]>('GET', `/partners/links?partnerId=${good.id}`);
    expect(links.body.map(({ key }) => key)).toEqual(['good']);
  });
});

describe('permissions', () => {
  it('the plan business is required, and the role owner or member', async () => {
    const pro = await aCaller(management, 'pro');
    expect(codeOf(await pro.call('GET', '/partners'))).toEqual([403, 'forbidden']);
    const viewer = await withKey(management, acme, 'viewer');
    expect(codeOf(await viewer.call('GET', '/partners'))).toEqual([403, 'forbidden']);
  });

  it.each(['no program', 'an incomplete program'])(
    'a workspace with %s gets one program when it is needed',
    async (what) => {
      const { catalog } = management;
      const { workspaceId, ...caller } = await aCaller(management);
      const program = await programOf({ workspaceId, ...caller });
      if (what === 'no program') await catalog.groups.remove(workspaceId, program.defaultGroupId);
      await catalog.programs.remove(workspaceId, program.id);
      // Incomplete means partly written, not deleted.
      await management.database.client.command({
        query: 'DELETE FROM programs WHERE workspace_id = {workspace:UInt64}',
        query_params: { workspace: parseResourceId('workspace', workspaceId) },
      });
      await catalog.workspaces.update(workspaceId, { defaultProgramId: null });
      const enrolled = await Promise.all([1, 2, 3].map(() => enrol({ workspaceId, ...caller })));
      expect(enrolled.map(({ status }) => status)).toEqual([201, 201, 201]);
      const { id } = await programOf({ workspaceId, ...caller });
      expect(enrolled.map(({ body }) => body.programId)).toEqual([id, id, id]);
    },
  );

  it('a domain with links of partners cannot be deleted', async () => {
    const caller = await aCaller(management);
    await enrol(caller);
    // Existing links stay on their domain when the program moves to another.
    const { id } = await programOf(caller);
    await management.catalog.programs.update(caller.workspaceId, id, () => ({ domainId: null }));
    expect(codeOf(await caller.call('DELETE', `/domains/${caller.host}`))).toEqual([403, 'forbidden']);
  });
});

describe('routes of features that do not exist', () => {
  let callers: Caller[];
  beforeAll(async () => {
    const free = await aCaller(management, 'free');
    callers = [acme, free, await withKey(management, free, 'viewer', ['links.read'])];
  });

  it.each([
    ['GET', '/commissions'],
    ['POST', '/commissions'],
    ['PATCH', '/commissions/bulk'],
    ['PATCH', '/commissions/cm_1'],
    ['GET', '/payouts'],
    ['GET', '/discount-codes'],
    ['POST', '/discount-codes'],
    ['DELETE', '/discount-codes/SAVE'],
    ['GET', '/bounties/b/submissions'],
    ['POST', '/bounties/b/submissions/s/approve'],
    ['POST', '/bounties/b/submissions/s/reject'],
    ['POST', '/tokens/embed/referrals'],
  ] as const)('%s %s is not found, for any caller', async (method, path) => {
    for (const caller of callers) {
      const answer = await caller.call(method, path, method === 'GET' || method === 'DELETE' ? undefined : {});
      expect([codeOf(answer), answer.body.error.message]).toEqual([[404, 'not_found'], 'Program not found.']);
    }
    const nobody = callerWith(management, acme.workspaceId, 'dub_nobody', acme.host);
    expect(codeOf(await nobody.call(method, path))).toEqual([401, 'unauthorized']);
  });
});
