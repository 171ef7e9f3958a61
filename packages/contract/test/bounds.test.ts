import { expect, test } from 'vitest';
import type { z } from 'zod';
import {
  createCustomerBodySchema,
  createExportBodySchema,
  createExportScheduleBodySchema,
  createFolderBodySchema,
  createImportBodySchema,
  createLinkBodySchema,
  createPartnerBodySchema,
  createUtmTemplateBodySchema,
  createWebhookBodySchema,
  importFormSchema,
  PLAN_LIMITS,
  rejectApplicationBodySchema,
  tagBodySchema,
  trackLeadBodySchema,
  trackLeadClientBodySchema,
  trackSaleBodySchema,
  trackSaleClientBodySchema,
} from '../src/index.js';

// The numbers of docs/reference/plans.md, written once more.

const text = (length: number) => 'a'.repeat(length);
const email = (length: number) => `${text(30)}@${`${text(50)}.`.repeat(4).slice(0, length - 35)}.com`;
const url = (length: number) => `https://acme.com/${text(length - 17)}`;
const items = (length: number) => Array.from({ length }, (_, index) => `id_${index}`);
const csv = (length: number) => items(length).join(' ,,');
const countries = (length: number) => Object.fromEntries(items(length).map((name) => [name, 'https://acme.com']));

const link = { url: 'https://acme.com' };
const partner = { email: 'ada@example.com' };
const lead = { eventName: 'Sign up', customerExternalId: 'c', clickId: 'x' };
const sale = { customerExternalId: 'c', amount: 1 };
const anExport = { resource: 'events' };
const schedule = {
  ...{ resource: 'events', frequency: 'daily' },
  destination: { type: 's3', region: 'eu', bucket: 'abc', accessKeyId: 'a', secretAccessKey: 's' },
};
/** Filters that have so many characters in `city=…&region=…`, with a letter that has six of them. */
const filters = (length: number) => ({ city: text(50_000), region: [text(length - 50_022), 'é'] });
/** Domains that have so many characters as JSON, with one that has six of them. */
const domains = (length: number) => {
  const many = Array.from({ length: 162 }, () => text(390));
  return [...many, `\u0001${text(length - JSON.stringify([...many, '\u0001']).length)}`];
};
const customer = { externalId: 'c', country: 'DE' };
const webhook = { name: 'Hook', url: 'https://acme.com', triggers: ['lead.created'] };

type Bound = readonly [body: string, z.ZodType, minimal: object, string, number, (length: number) => unknown];
const inEach = (
  schemas: readonly (readonly [string, z.ZodType, object])[],
  fields: readonly (readonly [string, number, (length: number) => unknown])[],
) => schemas.flatMap((schema) => fields.map((field): Bound => [...schema, ...field]));

const BOUNDS: readonly Bound[] = [
  ...inEach(
    [['a link', createLinkBodySchema, link]],
    [
      ...['key', 'prefix', 'domain'].map((field) => [field, 190, text] as const),
      ...['externalId', 'tenantId'].map((field) => [field, 255, text] as const),
      ...['comments', 'title', 'description'].map((field) => [field, 32_000, text] as const),
      ...['url', 'video', 'expiredUrl', 'ios', 'android'].map((field) => [field, 32_000, url] as const),
      ['password', 1000, text],
      ...['tagIds', 'tagNames', 'webhookIds'].map((field) => [field, 1000, items] as const),
      ...['tagIds', 'tagNames'].map((field) => [field, 1000, csv] as const),
      ['geo', 300, countries],
    ],
  ),
  ...inEach([['a UTM template', createUtmTemplateBodySchema, { name: 'Mail' }]], [['utm_source', 255, text]]),
  ...inEach(
    [['a partner', createPartnerBodySchema, partner]],
    [
      ['name', 100, text],
      ['username', 100, text],
      ['email', 190, email],
      ['tenantId', 255, text],
      ['description', 5000, text],
    ],
  ),
  ...inEach([['a rejection', rejectApplicationBodySchema, { partnerId: 'pn_1' }]], [['rejectionNote', 5000, text]]),
  ...inEach(
    [
      ['a lead', trackLeadBodySchema, lead],
      ['a lead of a browser', trackLeadClientBodySchema, lead],
      ['a sale', trackSaleBodySchema, sale],
      ['a sale of a browser', trackSaleClientBodySchema, sale],
    ],
    [
      ['eventName', 255, text],
      ['clickId', 255, text],
      ['customerExternalId', 100, text],
      ['customerName', 100, text],
      ['customerEmail', 100, email],
    ],
  ),
  ...inEach(
    [
      ['a sale', trackSaleBodySchema, sale],
      ['a sale of a browser', trackSaleClientBodySchema, sale],
    ],
    [
      ['invoiceId', 255, text],
      ['leadEventName', 255, text],
    ],
  ),
  ...inEach([['a lead', trackLeadBodySchema, lead]], [['eventQuantity', 100, (count) => count]]),
  ...inEach(
    [['a customer', createCustomerBodySchema, customer]],
    [
      ['externalId', 100, text],
      ['name', 100, text],
      ['email', 100, email],
    ],
  ),
  ...inEach(
    [
      ['an export', createExportBodySchema, anExport],
      ['an export schedule', createExportScheduleBodySchema, schedule],
    ],
    [['filters', 100_000, filters]],
  ),
  ...inEach(
    [
      ['an import', createImportBodySchema, { source: 'dub', credentials: { apiKey: 'k' } }],
      ['an import of a file', importFormSchema, { source: 'dub' }],
    ],
    [
      ['domains', 1000, items],
      ['domains', 64_000, (length) => domains(length)],
      ['tags', 50, items],
    ],
  ),
  ...inEach([['a tag', tagBodySchema, {}]], [['name', 190, text]]),
  ...inEach(
    [['a folder', createFolderBodySchema, { name: 'F' }]],
    [
      ['name', 190, text],
      ['description', 500, text],
    ],
  ),
  ...inEach(
    [['a webhook', createWebhookBodySchema, webhook]],
    [
      ['name', 40, text],
      ['url', 2048, url],
      ['linkIds', 1000, items],
      ['folderIds', 100, items],
    ],
  ),
];

test.each(BOUNDS.map((bound, index) => [`${bound[3]} of ${bound[0]}`, index] as const))(
  '%s has its bound',
  (_what, index) => {
    const [, schema, minimal, field, max, make] = BOUNDS[index] ?? expect.fail();
    expect(schema.safeParse({ ...minimal, [field]: make(max) }).error?.issues).toBeUndefined();
    const issues = schema.safeParse({ ...minimal, [field]: make(max + 1) }).error?.issues;
    expect(issues).toMatchObject([{ path: [field] }]);
    // Of a field that is a text or a list, the bound is one of two faults.
    expect(JSON.stringify(issues)).toMatch(new RegExp(`"code":"too_big"[^}]*"maximum":${max},`));
  },
);

test('each plan has the rates and quotas of its row', () => {
  const rows = Object.entries(PLAN_LIMITS).map(([plan, { requestsPerMinute, analyticsPerSecond, quotas }]) => {
    const { linksPerMonth, eventsPerMonth, domains, tags, folders, partners, partnerTags, partnerGroups } = quotas;
    const counts = [linksPerMonth, eventsPerMonth, domains, tags, folders, partners, partnerTags, partnerGroups];
    return [plan, requestsPerMinute, analyticsPerSecond, ...counts];
  });
  expect(rows).toEqual([
    ['free', 60, 0, 25, 1000, 3, 5, 0, 0, 0, 0],
    ['pro', 600, 2, 1000, 50_000, 10, 25, 3, 0, 0, 0],
    ['business', 1200, 4, 10_000, 250_000, 100, null, 20, 500, 10, 3],
    ['advanced', 3000, 8, 50_000, 1_000_000, 250, null, 50, null, null, null],
    ['enterprise', 3000, 16, null, 5_000_000, 250, null, null, null, null, null],
  ]);
});
