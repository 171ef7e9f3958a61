import type { Link, Partner, PartnerLink } from '@waymark/contract';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let acme: Caller;
beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

const enrol = (body: object) => acme.call<Partner>('POST', '/partners', body);

/** Changes the tenantId of the partner with the email, as another request does, right before the next row of a link is stored. */
function changeBeforeLinkIsStored(email: string, tenantId: string): void {
  const { client } = management.database;
  const { partners } = management.catalog;
  const insert = client.insert.bind(client);
  const restore = () => Object.assign(client, { insert });
  onTestFinished(() => void restore());
  const changed = async (params: Parameters<typeof insert>[0]) => {
    if (params.table === 'links') {
      restore();
      const { id = '' } = (await partners.findByEmail(acme.workspaceId, email)) ?? {};
      await partners.update(acme.workspaceId, id, () => ({ tenantId }));
      await partners.copyTenantToLinks(acme.workspaceId, id, tenantId);
    }
    return insert(params);
  };
  Object.assign(client, { insert: changed });
}

it('links that are made while another request changes the tenantId of their partner have the later one', async () => {
  const email = 'ann@example.com';
  changeBeforeLinkIsStored(email, 'second');
  const { id } = (await enrol({ email, tenantId: 'first' })).body;
  const tenantIds = async () =>
    (await management.catalog.partners.links(acme.workspaceId, id, 10)).map(({ tenantId }) => tenantId);
  expect(await tenantIds()).toEqual(['second']);

  const bodyOf = (path: string) => ({ partnerId: id, url: `https://${acme.host}/${path}` });
  changeBeforeLinkIsStored(email, 'third');
  expect((await acme.call('POST', '/partners/links', bodyOf('a'))).status).toBe(201);
  expect(await tenantIds()).toEqual(['third', 'third']);

  changeBeforeLinkIsStored(email, 'fourth');
  expect((await acme.call('PUT', '/partners/links/upsert', bodyOf('b'))).status).toBe(200);
  expect(await tenantIds()).toEqual(['fourth', 'fourth', 'fourth']);
});

it('a partnerId takes precedence over a tenantId in every request that has both', async () => {
  const meant = (await enrol({ email: 'meant@example.com', tenantId: 'meant' })).body;
  const other = (await enrol({ email: 'other@example.com', tenantId: 'other' })).body;
  const both = { partnerId: meant.id, tenantId: 'other' };
  const url = `https://${acme.host}/both`;
  const made = await acme.call<Link>('POST', '/partners/links', { ...both, url });
  const found = await acme.call<Link>('PUT', '/partners/links/upsert', { ...both, url });
  for (const { body } of [made, found]) expect([body.partnerId, body.tenantId]).toEqual([meant.id, 'meant']);
  const { body: links } = await acme.call<PartnerLink[]>('GET', `/partners/links?partnerId=${meant.id}&tenantId=other`);
  expect(links.map(({ id }) => id)).toContain(made.body.id);
  for (const [change, status] of [
    ['deactivate', 'deactivated'],
    ['reactivate', 'approved'],
    ['ban', 'banned'],
    ['unban', 'approved'],
  ] as const) {
    const answer = await acme.call('POST', `/partners/${change}`, { ...both, reason: 'fraud' });
    expect(answer).toEqual({ status: 200, body: { partnerId: meant.id } });
    const statusOf = async ({ id }: Partner) => (await acme.call<Partner>('GET', `/partners/${id}`)).body.status;
    expect([await statusOf(meant), await statusOf(other)], change).toEqual([status, 'approved']);
  }
});
