import { formatResourceId } from '@waymark/contract';
import type { KnownWorkspace } from '../dataset/generate.js';
import type { Picks } from '../dataset/picks.js';
import { DAY_MS, END_MS, FOLDERS, resourceIdOf, TAGS } from '../dataset/world.js';
import { type BaselinePage, baselineCustomerClicks, baselinePage, firstSales } from './baseline-queries.js';

/** A query that both systems run. */
export interface Family {
  readonly group: string;
  readonly name: string;
  /** Parameters of our API. */
  readonly query: Readonly<Record<string, string>>;
  /** The baseline's statement. */
  readonly baseline: string;
}

const LIMIT = 100;
const ALL = { interval: 'all' };

function list(values: readonly string[]): string {
  return `(${values.map((value) => `'${value}'`).join(', ')})`;
}

/** Program of the links and partners of a generated workspace. */
export function programOf(rank: number): string {
  return formatResourceId('program', BigInt(rank * 100_000 + 1));
}

/** Page 1 of `GET /events`, with every combination of filters. */
export function eventFamilies(workspace: KnownWorkspace, picks: Picks): Family[] {
  const { publicId, rank } = workspace;
  const families: Family[] = [];
  let group = '';
  const add = (name: string, query: Record<string, string>, selection: BaselinePage = {}) =>
    families.push({ group, name, query, baseline: baselinePage(publicId, LIMIT, selection) });
  const all = (name: string, query: Record<string, string>, selection: BaselinePage = {}) =>
    add(name, { ...ALL, ...query }, selection);

  group = 'no filter';
  add('24 hours', {}, { days: 1 });
  add('30 days', { start: isoDaysAgo(30), end: isoDaysAgo(0) }, { days: 30 });
  all('since ever', {});
  all('since ever, oldest first', { sortOrder: 'asc' }, { order: 'ASC' });
  all('leads', { event: 'leads' }, { event: 'leads' });
  all('sales', { event: 'sales' }, { event: 'sales' });

  group = 'event filters';
  all('a frequent country', { country: 'US' }, { where: ["country = 'US'"] });
  all('a rare country', { country: 'IS' }, { where: ["country = 'IS'"] });
  all('a country left out', { country: '-US' }, { where: ["country != 'US'"] });
  all('a frequent city', { city: 'City 0' }, { where: ["city = 'City 0'"] });
  all('a rare city', { city: picks.rareCity }, { where: [`city = '${picks.rareCity}'`] });
  add(
    'a rare city in 90 days',
    { start: isoDaysAgo(90), end: isoDaysAgo(0), city: picks.rareCity },
    {
      where: [`city = '${picks.rareCity}'`],
      days: 90,
    },
  );
  all(
    'device, browser and system',
    { device: 'Tablet', browser: 'Mobile Safari', os: 'iOS' },
    {
      where: ["device = 'Tablet'", "browser = 'Mobile Safari'", "os = 'iOS'"],
    },
  );
  all('QR codes', { trigger: 'qr' }, { where: ["trigger = 'qr'"] });
  all('a rare referer', { referer: picks.rareReferer }, { where: [`referer = '${picks.rareReferer}'`] });
  all('a rare URL', { url: picks.rareUrl }, { where: [`cutQueryString(url) = '${picks.rareUrl}'`] });
  all('a frequent UTM source', { utm_source: 'google' }, { where: ["url LIKE '%utm_source=google%'"] });
  all(
    'a rare UTM campaign',
    { utm_campaign: picks.rareCampaign },
    {
      where: [`url LIKE '%utm_campaign=${picks.rareCampaign}%'`],
    },
  );
  all(
    'two rare UTM terms',
    { utm_term: picks.rareTerms.join(',') },
    {
      where: [`(${picks.rareTerms.map((term) => `url LIKE '%utm_term=${term}%'`).join(' OR ')})`],
    },
  );

  group = 'a few links';
  for (const [name, link] of [
    ['the busiest link', picks.topLink],
    ['a middling link', picks.middleLink],
    ['a quiet link', picks.quietLink],
  ] as const) {
    all(name, { linkId: link }, { where: [`link_id = '${link}'`] });
  }
  all(
    'the busiest link, a rare city',
    { linkId: picks.topLink, city: picks.rareCity },
    {
      where: [`link_id = '${picks.topLink}'`, `city = '${picks.rareCity}'`],
    },
  );
  all(
    'the 100 busiest links',
    { linkId: picks.busiestLinks.join(',') },
    {
      where: [`link_id IN ${list(picks.busiestLinks)}`],
    },
  );
  all('100 quiet links', { linkId: picks.quietLinks.join(',') }, { where: [`link_id IN ${list(picks.quietLinks)}`] });

  group = 'attributes of links';
  const tag = (index: number) => resourceIdOf('tag', rank, index);
  const folder = (index: number) => resourceIdOf('folder', rank, index);
  for (const [name, index] of [
    ['a frequent tag', 0],
    ['a middling tag', 40],
    ['a rare tag', TAGS - 1],
  ] as const) {
    all(name, { tagId: tag(index) }, { link: [`has(tag_ids, '${tag(index)}')`] });
  }
  all('a tag left out', { tagId: `-${tag(0)}` }, { link: [`NOT has(tag_ids, '${tag(0)}')`] });
  all('a folder', { folderId: folder(FOLDERS - 1) }, { link: [`folder_id = '${folder(FOLDERS - 1)}'`] });
  all('a domain', { domain: `l.shop${rank}.example` }, { link: [`domain = 'l.shop${rank}.example'`] });
  all('root links', { root: 'true' }, { link: ["key = '_root'"] });
  all('a quiet tenant', { tenantId: picks.tenant }, { link: [`tenant_id = '${picks.tenant}'`] });
  all('a busy tenant', { tenantId: picks.busyTenant }, { link: [`tenant_id = '${picks.busyTenant}'`] });
  all(
    'a partner',
    { partnerId: resourceIdOf('partner', rank, 1) },
    {
      link: [`partner_id = '${resourceIdOf('partner', rank, 1)}'`],
    },
  );
  all(
    'a group of partners',
    { groupId: resourceIdOf('partnerGroup', rank, 3) },
    {
      link: [`group_id = '${resourceIdOf('partnerGroup', rank, 3)}'`],
    },
  );
  all(
    'a partner tag',
    { partnerTagId: resourceIdOf('partnerTag', rank, 5) },
    {
      link: [`has(partner_tag_ids, '${resourceIdOf('partnerTag', rank, 5)}')`],
    },
  );
  all(
    'a tag and a country',
    { tagId: tag(40), country: 'DE' },
    {
      link: [`has(tag_ids, '${tag(40)}')`],
      where: ["country = 'DE'"],
    },
  );

  group = 'customers and conversions';
  families.push({
    group,
    name: 'clicks of a customer',
    query: { ...ALL, customerId: picks.customer },
    baseline: baselineCustomerClicks(publicId, LIMIT, picks.customer),
  });
  all(
    'leads of a customer',
    { event: 'leads', customerId: picks.customer },
    {
      event: 'leads',
      where: [`customer_id = '${picks.customer}'`],
    },
  );
  all(
    'leads by name',
    { event: 'leads', eventName: 'Webinar joined' },
    {
      event: 'leads',
      where: ["event_name = 'Webinar joined'"],
    },
  );
  all('new sales', { event: 'sales', saleType: 'new' }, { event: 'sales', where: [firstSales(publicId)] });
  all(
    'leads by a frequent metadata value',
    { event: 'leads', query: "metadata['plan']:'pro'" },
    {
      event: 'leads',
      where: ["JSONExtractString(metadata, 'plan') = 'pro'"],
    },
  );
  all(
    'a lead by a rare metadata value',
    { event: 'leads', query: `metadata['order']:'${picks.order}'` },
    {
      event: 'leads',
      where: [`JSONExtractString(metadata, 'order') = '${picks.order}'`],
    },
  );
  all(
    'leads by a metadata number',
    { event: 'leads', query: "metadata['seats']>49" },
    {
      event: 'leads',
      where: ["JSONExtractFloat(metadata, 'seats') > 49"],
    },
  );
  return families;
}

/** Pages with high numbers. */
export function deepFamilies(workspace: KnownWorkspace, clicks: number): Family[] {
  const page = (
    name: string,
    offset: number,
    query: Record<string, string> = {},
    selection: BaselinePage = {},
  ): Family => ({
    group: 'far pages',
    name,
    query: { ...ALL, ...query, page: String(1 + Math.floor(offset / LIMIT)) },
    baseline: baselinePage(workspace.publicId, LIMIT, { ...selection, offset: Math.floor(offset / LIMIT) * LIMIT }),
  });
  return [
    page('9,900 back', 9_900),
    page('100,000 back', Math.min(100_000, clicks / 3)),
    page('half of all back', clicks / 2),
    page('beyond the end', clicks * 2),
    page('a country, 100,000 back', Math.min(100_000, clicks / 12), { country: 'US' }, { where: ["country = 'US'"] }),
    page('a country, beyond its end', clicks * 0.9, { country: 'US' }, { where: ["country = 'US'"] }),
  ];
}

/** A time in the format of the API, so that both systems use the same range. */
export function isoDaysAgo(days: number): string {
  return new Date(END_MS - days * DAY_MS).toISOString();
}
