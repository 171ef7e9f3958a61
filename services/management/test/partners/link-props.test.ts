import type { Link, Partner } from '@waymark/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let partner: Partner;
let linkProps: object;
let next = 0;

const enrol = async (body: object) => (await acme.call<Partner>('POST', '/partners', body)).body;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
  const { catalog } = management;
  const { workspaceId } = acme;
  partner = await enrol({ email: 'ann@example.com' });
  const webhook = { name: 'Hook', url: 'https://hooks.example/', triggers: ['link.clicked' as const] };
  const utm = { utm_source: 'a', utm_medium: 'a', utm_campaign: 'a', utm_term: 'a', utm_content: 'a', ref: 'a' };
  linkProps = {
    ...{ url: 'https://acme.com/props', domain: 'props.example', key: 'from-props', keyLength: 20 },
    ...{ partnerId: (await enrol({ email: 'other@example.com' })).id, programId: 'prog_none', trackConversion: false },
    ...{ ...utm, publicStats: true, geo: { FR: 'https://acme.com/fr' } },
    folderId: (await catalog.folders.create(workspaceId, { name: 'Props' })).id,
    tagId: (await catalog.tags.create(workspaceId, { name: 'props' })).id,
    webhookIds: [(await catalog.webhooks.create(workspaceId, webhook)).id],
  };
});
afterAll(() => management.close());

/** The fields of a link that its partner program sets, or that partners have none of. */
function programFields(link: Link): object {
  const { domain, key, url, programId, partnerId, trackConversion, folderId, publicStats, tags, geo, webhookIds } =
    link;
  const fields = { domain, url, programId, partnerId, trackConversion, folderId, publicStats, tags, geo, webhookIds };
  return { ...fields, keyLength: key.length };
}

const ownFields = (partnerId: string, url: string, keyLength: number) => ({
  ...{ domain: acme.host, url, programId: partner.programId, partnerId, trackConversion: true, folderId: null },
  ...{ publicStats: false, tags: [], geo: null, webhookIds: [], keyLength },
});

it('linkProps do not set what the program sets: of the first link', async () => {
  const { id, links } = await enrol({ email: 'bob@example.com', linkProps });
  const { body: link } = await acme.get<Link>(`/links/${links?.[0]?.id}`);
  expect(programFields(link)).toEqual(ownFields(id, `https://${acme.host}`, 'bob'.length));
});

it.each([
  ['POST', '/partners/links'],
  ['PUT', '/partners/links/upsert'],
] as const)('linkProps do not set what the program sets: %s %s', async (method, path) => {
  const url = `https://acme.com${path}`;
  const { body: link } = await acme.call<Link>(method, path, { partnerId: partner.id, url, linkProps });
  expect(programFields(link)).toEqual(ownFields(partner.id, url, 7));
  const { body: found } = await acme.call<Link>('PUT', '/partners/links/upsert', {
    ...{ partnerId: partner.id, url, comments: 'changed' },
    linkProps,
  });
  expect([found.id, found.comments]).toEqual([link.id, 'changed']);
  expect(programFields(found)).toEqual(programFields(link));
});

it('prepends linkProps.prefix to the key of the first link', async () => {
  const keyOf = async (body: object) =>
    (await enrol({ email: `prefix${next++}@example.com`, ...body })).links?.[0]?.key;
  expect(await keyOf({ name: 'Prefixed', linkProps: { prefix: '/c/' } })).toBe('c/prefixed');
  expect(await keyOf({ username: 'Prefixed', linkProps: { prefix: 'c' } })).toMatch(/^c\/Prefixed-[a-z0-9]{4}$/);
  expect(await keyOf({ name: 'No prefix', linkProps: { prefix: '/' } })).toBe('no-prefix');
  expect(await keyOf({ name: '!', email: '+@example.com', linkProps: { prefix: 'c' } })).toMatch(/^c\/\w{7}$/);
});

it.each([
  ['apple-app-site-association', { name: 'Apple App Site Association' }],
  ['track/click', { name: 'Click', linkProps: { prefix: 'track' } }],
])('a key of the first link that would be the reserved %s gets a suffix', async (key, body) => {
  const { links } = await enrol({ email: `reserved${next++}@example.com`, ...body });
  expect(links?.[0]?.key).toMatch(new RegExp(`^${key}-[a-z0-9]{4}$`));
});
