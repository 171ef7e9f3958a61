import type { Link, Partner } from '@waymark/contract';
import { rounds } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let next = 0;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

type Change = 'deactivate' | 'reactivate' | 'ban' | 'unban';

const codeOf = ({ status, body }: Answer<{ error?: { code: string } }>) => [status, body.error?.code];
const send = (change: Change, { id }: Pick<Partner, 'id'>) =>
  acme.call('POST', `/partners/${change}`, { partnerId: id, ...(change === 'ban' ? { reason: 'fraud' } : {}) });

async function become(change: Change, partner: Pick<Partner, 'id'>): Promise<void> {
  expect(await send(change, partner)).toEqual({ status: 200, body: { partnerId: partner.id } });
}

async function aPartner(): Promise<Partner> {
  const { status, body } = await acme.call<Partner>('POST', '/partners', { email: `partner${next++}@example.com` });
  expect(status).toBe(201);
  return body;
}

/** Creates a link, with or without a partner. */
async function aLink(fields: object = {}): Promise<Link> {
  const { status, body } = await acme.post({ url: 'https://acme.com/a', ...fields });
  expect(status).toBe(200);
  return body;
}

const linkOf = async ({ id }: Pick<Link, 'id'>) => (await acme.get(`/links/${id}`)).body;
const patched = async ({ id }: Pick<Link, 'id'>, body: object) =>
  (await acme.call<Link>('PATCH', `/links/${id}`, body)).body;
const hasExpired = ({ expiresAt }: Pick<Link, 'expiresAt'>) =>
  expiresAt !== null && Date.parse(expiresAt) <= Date.now();

describe('a tenant whose partner is not active', () => {
  it.each(['deactivate', 'ban'] as const)('gets no working link: %s', async (change) => {
    const tenantId = `tenant-${change}`;
    const { body: partner } = await acme.call<Partner>('POST', '/partners', {
      email: `${change}@example.com`,
      tenantId,
    });
    await become(change, partner);
    const moved = await patched(await aLink(), { tenantId });
    for (const link of [await aLink({ tenantId }), moved]) {
      expect([link.partnerId, change === 'ban' ? link.disabledAt !== null : hasExpired(link)]).toEqual([
        partner.id,
        true,
      ]);
    }
  });
});

describe('POST /partners/deactivate and reactivate', () => {
  it('expire the links and restore them unchanged', async () => {
    const partner = await aPartner();
    const partnerId = partner.id;
    const links = [await aLink({ partnerId }), await aLink({ partnerId, expiresAt: '2040-01-01' })];
    const past = await aLink({ partnerId, expiresAt: '2020-01-01', expiredUrl: 'https://acme.com/over' });
    await become('deactivate', partner);
    const { body } = await acme.call<Partner[]>('GET', `/partners?search=${partnerId}`);
    expect(body).toMatchObject([{ status: 'deactivated', bannedAt: null, bannedReason: null }]);
    for (const link of links) expect(hasExpired(await linkOf(link))).toBe(true);
    expect(await linkOf(past)).toEqual(past);
    const listed = await acme.get<Link[]>(`/links?partnerId=${partnerId}`);
    expect(listed.body.filter(hasExpired)).toHaveLength(4);
    await become('reactivate', partner);
    for (const link of [...links, past]) expect(await linkOf(link)).toEqual(link);
  });

  it('take effect at once in processes that had the link and the partner in their caches', async () => {
    const partner = await aPartner();
    const link = await aLink({ partnerId: partner.id });
    const other = management.anotherCatalog();
    const visited = () => other.links.findByAddress(link.domain, link.key.toLowerCase());
    expect((await visited())?.expiresAt).toBeNull();
    for (const change of ['deactivate', 'reactivate'] as const) {
      await become(change, partner);
      expect(hasExpired((await visited()) ?? link)).toBe(change === 'deactivate');
    }
  });

  it('apply to links that are assigned to the partner in the meantime, and no longer to those that are removed', async () => {
    const [partner, other] = [await aPartner(), await aPartner()];
    const partnerId = partner.id;
    await become('deactivate', partner);
    const made = await acme.call<Link>('POST', '/partners/links', { partnerId, url: `https://${acme.host}/x` });
    const moved = await patched(await aLink(), { partnerId });
    const bulk = await acme.call<Link[]>('POST', '/links/bulk', [{ url: 'https://acme.com/b', partnerId }]);
    const came = [made.body, moved, bulk.body[0] as Link];
    for (const link of came) expect([hasExpired(link), hasExpired(await linkOf(link))]).toEqual([true, true]);
    const left = [await patched(made.body, { partnerId: other.id }), await patched(moved, { partnerId: null })];
    for (const link of left) expect([link.expiresAt, (await linkOf(link)).expiresAt]).toEqual([null, null]);
    await become('reactivate', partner);
    expect((await linkOf(came[2] as Link)).expiresAt).toBeNull();
  });

  it('keep an expiry that is set in between, and do not store the one that is only shown', async () => {
    const partner = await aPartner();
    const [shown, set, cleared] = [
      await aLink({ partnerId: partner.id, expiresAt: '2040-01-01' }),
      await aLink({ partnerId: partner.id }),
      await aLink({ partnerId: partner.id, expiresAt: '2040-01-01' }),
    ];
    await become('deactivate', partner);
    const { expiresAt, url, comments } = await linkOf(shown);
    expect(hasExpired(await patched(shown, { expiresAt, url, comments }))).toBe(true);
    expect(hasExpired(await patched(set, { expiresAt: '2041-01-01T00:00:00Z' }))).toBe(true);
    expect(hasExpired(await patched(cleared, { expiresAt: null }))).toBe(true);
    await become('reactivate', partner);
    expect((await linkOf(shown)).expiresAt).toBe(shown.expiresAt);
    expect((await linkOf(set)).expiresAt).toBe('2041-01-01T00:00:00.000Z');
    expect((await linkOf(cleared)).expiresAt).toBeNull();
  });

  it('are allowed only from approved and deactivated; enrolling again does not reactivate', async () => {
    const partner = await aPartner();
    expect(codeOf(await send('reactivate', partner))).toEqual([400, 'bad_request']);
    await become('deactivate', partner);
    expect(codeOf(await send('deactivate', partner))).toEqual([400, 'bad_request']);
    const { body } = await acme.call<Partner>('POST', '/partners', { email: partner.email });
    expect([body.id, body.status]).toEqual([partner.id, 'deactivated']);
    expect(codeOf(await acme.call('POST', '/partners/reactivate', { partnerId: 'pn_none' }))).toEqual([
      404,
      'not_found',
    ]);
    expect(codeOf(await acme.call('POST', '/partners/reactivate', {}))).toEqual([400, 'bad_request']);
  });

  it('deactivate an archived partner too', async () => {
    const partner = await aPartner();
    await management.catalog.partners.update(acme.workspaceId, partner.id, () => ({ status: 'archived' }));
    expect(codeOf(await send('reactivate', partner))).toEqual([400, 'bad_request']);
    await become('deactivate', partner);
    expect((await acme.call<Partner>('GET', `/partners/${partner.id}`)).body.status).toBe('deactivated');
  });
});

describe('applications', () => {
  const apply = (caller: Caller, fields: Partial<Pick<Partner, 'country' | 'groupId'>> = {}) =>
    management.catalog.partners.create(caller.workspaceId, {
      ...{ name: 'Eve', email: `applicant${next++}@example.com`, status: 'pending' as const },
      ...fields,
    });
  const decide = (what: 'approve' | 'reject', body: object) =>
    acme.call('POST', `/partners/applications/${what}`, body);
  const stored = async (id: string) => management.catalog.partners.get(acme.workspaceId, id);

  it('an approval sets the group that it names, else keeps that of the application, else sets that of the program', async () => {
    const { groups } = management.catalog;
    const [named, own] = [
      await groups.create(acme.workspaceId, { name: 'Named', slug: 'named' }),
      await groups.create(acme.workspaceId, { name: 'Own', slug: 'own' }),
    ];
    const approved = async (application: Parameters<typeof apply>[1], body: object) => {
      const { id: partnerId } = await apply(acme, application);
      expect((await decide('approve', { partnerId, ...body })).status).toBe(200);
      return (await acme.call<Partner>('GET', `/partners/${partnerId}`)).body.groupId;
    };
    expect(await approved({ groupId: own.id }, { groupId: named.id })).toBe(named.id);
    expect(await approved({ groupId: own.id }, { groupId: null })).toBe(own.id);
    expect(await approved({}, {})).toBe((await aPartner()).groupId);
    const { id: partnerId } = await apply(acme);
    expect(codeOf(await decide('approve', { partnerId, groupId: 'grp_none' }))).toEqual([404, 'not_found']);
    expect((await stored(partnerId))?.status).toBe('pending');
  });

  it('an approval is refused while the links of the month are used up, and the application stays pending', async () => {
    const { id: partnerId } = await apply(acme);
    await aLink();
    await management.catalog.workspaces.update(acme.workspaceId, { quotas: { linksPerMonth: 1 } });
    expect(codeOf(await decide('approve', { partnerId }))).toEqual([403, 'forbidden']);
    expect((await stored(partnerId))?.status).toBe('pending');
    await management.catalog.workspaces.update(acme.workspaceId, { quotas: {} });
    expect((await decide('approve', { partnerId })).status).toBe(200);
  });

  it('a rejection is stored with its reasons; one for fraud cannot allow another application at once', async () => {
    const { id: partnerId } = await apply(acme);
    const fraud = { flagForFraud: true, flagForFraudReason: 'Copied' };
    const refused = await decide('reject', { partnerId, ...fraud, reapplicationTimeframe: 'instant' });
    expect(refused).toMatchObject({
      status: 422,
      body: { error: { message: /^invalid_combination: flagForFraud: / } },
    });
    expect((await stored(partnerId))?.status).toBe('pending');
    const words = { rejectionReason: 'notTheRightFit', rejectionNote: 'Sorry', reapplicationTimeframe: 'never' };
    expect((await decide('reject', { partnerId, ...fraud, ...words })).status).toBe(200);
    expect(await stored(partnerId)).toMatchObject({
      status: 'rejected',
      rejection: { reason: 'notTheRightFit', note: 'Sorry', timeframe: 'never', isFraud: true, fraudReason: 'Copied' },
    });
    const { id: plain } = await apply(acme);
    await decide('reject', { partnerId: plain });
    expect((await stored(plain))?.rejection).toMatchObject({
      ...{ reason: null, note: null, timeframe: 'standard', isFraud: false, fraudReason: null },
    });
  });

  it('are filtered by country and group', async () => {
    const caller = await aCaller(management);
    const { id: groupId } = await management.catalog.groups.create(caller.workspaceId, { name: 'G', slug: 'g' });
    const [french, german, grouped] = [
      (await apply(caller, { country: 'FR' })).id,
      (await apply(caller, { country: 'DE' })).id,
      (await apply(caller, { country: 'DE', groupId })).id,
    ];
    const ids = async (query: string) =>
      (await caller.call<{ id: string }[]>('GET', `/partners/applications?${query}`)).body.map(({ id }) => id);
    expect(await ids('')).toEqual([grouped, german, french]);
    expect(await ids('country=fr')).toEqual([french]);
    expect(await ids('country=-FR')).toEqual([grouped, german]);
    expect(await ids(`groupId=${groupId}&country=FR,DE`)).toEqual([grouped]);
    expect(await ids(`groupId=${groupId}&country=FR`)).toEqual([]);
  });
});

describe('POST /partners/ban and unban', () => {
  it.each('tos_violation inappropriate_content fake_traffic fraud spam brand_abuse'.split(' '))(
    'a partner can be banned for %s',
    async (reason) => {
      const { id } = await aPartner();
      expect((await acme.call('POST', '/partners/ban', { partnerId: id, reason })).status).toBe(200);
      expect((await acme.call<Partner>('GET', `/partners/${id}`)).body).toMatchObject({
        status: 'banned',
        bannedReason: reason,
      });
    },
  );

  it('disable the links, also later ones, and enable them again', async () => {
    const partner = await aPartner();
    const before = await aLink({ partnerId: partner.id });
    await become('ban', partner);
    await become('ban', partner);
    const { body } = await acme.call<Partner[]>('GET', `/partners?search=${partner.id}`);
    const bannedAt = body[0]?.bannedAt;
    expect(body).toMatchObject([{ status: 'banned', bannedReason: 'fraud' }]);
    const later = await aLink({ partnerId: partner.id });
    for (const link of [before, later]) expect((await linkOf(link)).disabledAt).toBe(bannedAt);
    await become('unban', partner);
    for (const link of [before, later]) expect((await linkOf(link)).disabledAt).toBeNull();
    const { body: after } = await acme.call<Partner[]>('GET', `/partners?search=${partner.id}`);
    expect(after).toMatchObject([{ status: 'approved', bannedAt: null, bannedReason: null }]);
    expect(codeOf(await send('unban', partner))).toEqual([400, 'bad_request']);
  });

  it('do not affect a link that is removed from the partner', async () => {
    const partner = await aPartner();
    const link = await aLink({ partnerId: partner.id });
    await become('ban', partner);
    expect((await patched(link, { comments: 'x' })).disabledAt).not.toBeNull();
    expect((await patched(link, { partnerId: null })).disabledAt).toBeNull();
  });

  it('complete an unban that was interrupted before the last link', async () => {
    const partner = await aPartner();
    const link = await aLink({ partnerId: partner.id });
    await become('ban', partner);
    await management.catalog.partners.update(acme.workspaceId, partner.id, () => ({
      status: 'approved',
      bannedAt: null,
    }));
    expect((await linkOf(link)).disabledAt).not.toBeNull();
    expect(codeOf(await send('unban', partner))).toEqual([400, 'bad_request']);
    expect((await linkOf(link)).disabledAt).toBeNull();
  });
});

describe('any sequence of changes to partners and links', () => {
  const ANSWERS: Record<Change, { from: string[]; to: string }> = {
    deactivate: { from: ['approved'], to: 'deactivated' },
    reactivate: { from: ['deactivated'], to: 'approved' },
    ban: { from: ['approved', 'deactivated', 'banned'], to: 'banned' },
    unban: { from: ['banned'], to: 'approved' },
  };
  const expiry = fc.constantFrom(null, '2020-01-01T00:00:00.000Z', '2040-01-01T00:00:00.000Z');
  const step = fc.oneof(
    fc.record({ change: fc.constantFrom<Change>('deactivate', 'reactivate', 'ban', 'unban'), partner: fc.nat(1) }),
    fc.record({ expiresAt: expiry, link: fc.nat(2) }),
    fc.record({ owner: fc.constantFrom(0, 1, null), link: fc.nat(2) }),
  );

  it('a link is expired or disabled exactly by its own expiry and its partner’s status', async () => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
      const partners = [await aPartner(), await aPartner()];
      const statuses = ['approved', 'approved'];
      const links = [
        await aLink({ partnerId: partners[0]?.id }),
        await aLink({ partnerId: partners[1]?.id }),
        await aLink(),
      ];
      const own: { expiresAt: string | null; owner: number | null }[] = [0, 1, null].map((owner) => ({
        expiresAt: null,
        owner,
      }));
      for (const one of steps) {
        if ('change' in one) {
          const { from, to } = ANSWERS[one.change];
          const isAllowed = from.includes(statuses[one.partner] as string);
          const { status } = await send(one.change, partners[one.partner] as Partner);
          expect(status).toBe(isAllowed ? 200 : 400);
          if (isAllowed) statuses[one.partner] = to;
        } else if ('owner' in one) {
          const partnerId = one.owner === null ? null : (partners[one.owner]?.id ?? null);
          await patched(links[one.link] as Link, { partnerId });
          Object.assign(own[one.link] as object, { owner: one.owner });
        } else {
          await patched(links[one.link] as Link, { expiresAt: one.expiresAt });
          Object.assign(own[one.link] as object, { expiresAt: one.expiresAt });
        }
      }
      for (const [index, link] of links.entries()) {
        const { expiresAt, owner } = own[index] as (typeof own)[number];
        const status = owner === null ? 'approved' : statuses[owner];
        const shown = await linkOf(link);
        expect(shown.disabledAt !== null).toBe(status === 'banned');
        if (status === 'deactivated') expect(hasExpired(shown)).toBe(true);
        else expect(shown.expiresAt).toBe(expiresAt);
      }
    });
    await fc.assert(property, { numRuns: rounds(6, 3) });
  });
});
