import type { LinkRecord, PartnerRecord } from '@waymark/catalog';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
});
afterAll(() => ingest.stop());

const HOUR_MS = 3_600_000;
const isoIn = (ms: number) => new Date(Date.now() + ms).toISOString();

const aPartner = () => ingest.catalog.partners.create(ingest.workspaceId, { name: 'Ada' });
const become = (partner: PartnerRecord, status: PartnerRecord['status']) =>
  ingest.catalog.partners.update(ingest.workspaceId, partner.id, () => ({ status, bannedAt: isoIn(0) }));

/** Status and destination of a visit. */
async function visited({ key }: LinkRecord): Promise<unknown[]> {
  const { statusCode, headers } = await ingest.visit(`/${key}`);
  return [statusCode, headers.location];
}

describe('the link of a partner', () => {
  it('is expired while the partner is deactivated, and works again afterwards', async () => {
    const partner = await aPartner();
    const link = await ingest.link({ partnerId: partner.id });
    expect(await visited(link)).toEqual([302, link.url]);
    await become(partner, 'deactivated');
    expect(await visited(link)).toEqual([410, undefined]);
    expect((await ingest.visit(`/${link.key}`)).body).toContain('expired');
    await become(partner, 'approved');
    expect(await visited(link)).toEqual([302, link.url]);
  });

  it('redirects like an expired link while the partner is deactivated: to its expiredUrl, else to that of its domain', async () => {
    const partner = await aPartner();
    const own = await ingest.link({ partnerId: partner.id, expiredUrl: 'https://acme.com/over' });
    const plain = await ingest.link({ partnerId: partner.id });
    await become(partner, 'deactivated');
    const [domain] = await ingest.catalog.domains.list(ingest.workspaceId, {
      ...{ filters: { isArchivedShown: true }, sortBy: 'createdAt', sortOrder: 'asc', page: 1, pageSize: 1 },
    });
    const expiredUrl = (url: string | null) =>
      ingest.catalog.domains.update(ingest.workspaceId, domain?.id ?? '', { expiredUrl: url });
    await expiredUrl('https://acme.com/domain-over');
    expect(await visited(own)).toEqual([302, 'https://acme.com/over']);
    expect(await visited(plain)).toEqual([302, 'https://acme.com/domain-over']);
    await expiredUrl(null);
  });

  it('keeps an expiry of its own', async () => {
    const partner = await aPartner();
    const past = await ingest.link({ partnerId: partner.id, expiresAt: isoIn(-HOUR_MS) });
    const future = await ingest.link({ partnerId: partner.id, expiresAt: isoIn(HOUR_MS) });
    await become(partner, 'deactivated');
    for (const link of [past, future]) expect(await visited(link)).toEqual([410, undefined]);
    await become(partner, 'approved');
    expect(await visited(past)).toEqual([410, undefined]);
    expect(await visited(future)).toEqual([302, future.url]);
  });

  it.each([
    ['deactivated', 410],
    ['banned', 404],
  ] as const)('that was %s before the link was made answers %i', async (status, code) => {
    const partner = await aPartner();
    await become(partner, status);
    expect(await visited(await ingest.link({ partnerId: partner.id }))).toEqual([code, undefined]);
  });

  it('records no conversions while the partner is banned, who cannot be paid, but does while the partner is deactivated', async () => {
    const partner = await aPartner();
    const link = await ingest.link({ partnerId: partner.id, trackConversion: true });
    const clickId = await ingest.click(link);
    const reports = async (number: number) => {
      const lead = { clickId, eventName: 'Sign up', customerExternalId: `lead ${number}` };
      const sale = { clickId, customerExternalId: `sale ${number}`, amount: 100 };
      const answers = [await ingest.post('/track/lead', lead), await ingest.post('/track/sale', sale)];
      return answers.map(({ statusCode }) => statusCode);
    };
    await become(partner, 'banned');
    expect(await reports(1)).toEqual([404, 404]);
    await become(partner, 'deactivated');
    expect(await reports(2)).toEqual([200, 200]);
  });

  it('still redirects when the partner cannot be read', async () => {
    const link = await ingest.link({ partnerId: 'pn_zzzzzzzzzzz' });
    expect(await visited(link)).toEqual([302, link.url]);
  });
});
