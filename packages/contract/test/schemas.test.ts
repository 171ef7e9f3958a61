import { expect, test } from 'vitest';
import {
  ApiError,
  createExportBodySchema,
  customerSchema,
  deletedCustomer,
  ERROR_STATUS,
  type ErrorCode,
  errorBody,
  eventsQuerySchema,
  hasPermission,
  linkSchema,
  listApplicationsQuerySchema,
  listCustomersQuerySchema,
  listDomainsQuerySchema,
  listFoldersQuerySchema,
  listLinksQuerySchema,
  listPartnersQuerySchema,
  listTagsQuerySchema,
  listUtmTemplatesQuerySchema,
  listWebhooksQuerySchema,
  METADATA_CHARS_MAX,
  type Permission,
  planAtLeast,
  trackLeadBodySchema,
  trackLeadClientBodySchema,
  trackSaleBodySchema,
  trackSaleClientBodySchema,
} from '../src/index.js';

function firstIssueCode(result: { success: boolean; error?: { issues: { code: string }[] } }): string | undefined {
  return result.error?.issues[0]?.code;
}

test('a list in a query has at most 1000 items, because each may need a look-up', () => {
  const parse = (items: number) => listLinksQuerySchema.safeParse({ tagNames: `${'a,'.repeat(items - 1)}a` });
  expect(parse(1000).success).toBe(true);
  expect(firstIssueCode(parse(1001))).toBe('too_big');
});

test.each([
  ['domains', listDomainsQuerySchema, 50],
  ['folders', listFoldersQuerySchema, 50],
  ['links', listLinksQuerySchema, 100],
  ['tags', listTagsQuerySchema, 100],
  ['customers', listCustomersQuerySchema, 100],
  ['partners', listPartnersQuerySchema, 100],
  ['applications', listApplicationsQuerySchema, 100],
  ['webhooks', listWebhooksQuerySchema, 100],
  ['UTM templates', listUtmTemplatesQuerySchema, 100],
])('a page of %s has the documented size by default, and 100 items at most', (_what, schema, pageSize) => {
  expect(schema.parse({})).toMatchObject({ page: 1, pageSize });
  expect([schema.safeParse({ pageSize: '100' }).success, schema.safeParse({ pageSize: '101' }).success]).toEqual([
    true,
    false,
  ]);
});

test('a list of a thousand UUIDs, as own ids of links too, is accepted', () => {
  const ids = Array.from({ length: 1000 }, () => `ext_${crypto.randomUUID()}`).join(',');
  expect(listLinksQuerySchema.safeParse({ linkIds: ids }).error).toBeUndefined();
  expect(eventsQuerySchema.safeParse({ linkId: `-${ids}`, tenantId: ids }).error).toBeUndefined();
  expect(createExportBodySchema.safeParse({ resource: 'events', filters: { linkId: ids } }).error).toBeUndefined();
});

test('every error code has the anchor of its documentation with hyphens only', () => {
  for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) {
    expect(errorBody(code, 'text', 'https://docs.example').error.doc_url).toBe(
      `https://docs.example/api-reference/errors#${code.split('_').join('-')}`,
    );
    expect(new ApiError(code, 'text').status).toBe(ERROR_STATUS[code]);
  }
});

test('the link object has exactly 51 fields', () => {
  expect(Object.keys(linkSchema.shape)).toHaveLength(51);
});

test('an empty filter counts as absent, an empty integer or enum is an error', () => {
  expect(eventsQuerySchema.parse({ country: '', root: '', query: '' })).toMatchObject({ page: 1, limit: 100 });
  expect(eventsQuerySchema.safeParse({ limit: '' }).success).toBe(false);
  expect(eventsQuerySchema.safeParse({ event: '' }).success).toBe(false);
});

test('a whole number may be written as 300.0', () => {
  expect(eventsQuerySchema.parse({ limit: '300.0', page: '+2.00' })).toMatchObject({ limit: 300, page: 2 });
});

test('a value of the wrong type is invalid_type, one of the right type out of range is not', () => {
  for (const query of [
    { limit: 'abc' },
    { limit: '1.5' },
    { limit: '1.' },
    { limit: '.0' },
    { limit: '1e2' },
    { root: 'yes' },
    { page: 'NaN' },
  ]) {
    expect(firstIssueCode(eventsQuerySchema.safeParse(query)), JSON.stringify(query)).toBe('invalid_type');
  }
  for (const query of [
    { limit: '0' },
    { limit: '-1' },
    { limit: '1001' },
    { page: '0' },
    { page: '9007199254740992' },
  ]) {
    expect(['too_small', 'too_big']).toContain(firstIssueCode(eventsQuerySchema.safeParse(query)));
  }
  expect(firstIssueCode(eventsQuerySchema.safeParse({ interval: '2w' }))).toBe('invalid_value');
});

test('the last value of a repeated scalar is used, and booleans may be in upper or lower case', () => {
  expect(eventsQuerySchema.parse({ limit: ['5', '7'], root: 'TRUE', country: ['US', 'FR'] })).toMatchObject({
    limit: 7,
    root: true,
    country: 'FR',
  });
});

test('tagIds may be CSV, repeated or both, and the last value of a repeated query is used', () => {
  expect(eventsQuerySchema.parse({ tagIds: ['tag_a,tag_b', 'tag_c'], query: ['x'.repeat(10_001), 'y'] })).toMatchObject(
    {
      tagIds: 'tag_a,tag_b,tag_c',
      query: 'y',
    },
  );
  expect(firstIssueCode(eventsQuerySchema.safeParse({ query: 'x'.repeat(10_001) }))).toBe('too_big');
});

test('customerExternalId takes the deprecated aliases in order', () => {
  const lead = { clickId: 'x', eventName: 'Sign up' };
  expect(trackLeadBodySchema.parse({ ...lead, customerId: 'c', externalId: 'e' }).customerExternalId).toBe('e');
  expect(trackLeadBodySchema.parse({ ...lead, customerId: 'c' }).customerExternalId).toBe('c');
  expect(firstIssueCode(trackLeadBodySchema.safeParse(lead))).toBe('invalid_type');
});

test('an empty id of a customer does not hide an alias', () => {
  const lead = { clickId: 'x', eventName: 'Sign up' };
  const idOf = (ids: object) => trackLeadBodySchema.parse({ ...lead, ...ids }).customerExternalId;
  expect(idOf({ customerExternalId: '', externalId: 'e', customerId: 'c' })).toBe('e');
  expect(idOf({ externalId: '', customerId: 'c' })).toBe('c');
  expect(idOf({ customerExternalId: null, externalId: '', customerId: 'c' })).toBe('c');
  expect(trackSaleBodySchema.parse({ amount: 1, externalId: '', customerId: 'c' }).customerExternalId).toBe('c');
  for (const name of ['customerExternalId', 'externalId', 'customerId']) {
    expect(firstIssueCode(trackLeadBodySchema.safeParse({ ...lead, [name]: '' }))).toBe('too_small');
  }
});

test('a fractional amount is a wrong type, a negative one is out of range', () => {
  const sale = { customerExternalId: 'c' };
  expect(firstIssueCode(trackSaleBodySchema.safeParse({ ...sale, amount: 1.5 }))).toBe('invalid_type');
  expect(firstIssueCode(trackSaleBodySchema.safeParse({ ...sale, amount: -1 }))).toBe('too_small');
  expect(trackSaleBodySchema.parse({ ...sale, amount: 0, currency: 'EUR' })).toMatchObject({
    currency: 'eur',
    eventName: 'Purchase',
    paymentProcessor: 'custom',
  });
});

test('a sale without a name, or with an empty one, is named Purchase', () => {
  const sale = { customerExternalId: 'c', amount: 1 };
  for (const eventName of [undefined, '', '  ']) {
    expect(trackSaleBodySchema.parse({ ...sale, eventName })).toMatchObject({ eventName: 'Purchase' });
    expect(trackSaleClientBodySchema.parse({ ...sale, eventName })).toMatchObject({ eventName: 'Purchase' });
  }
  expect(trackSaleBodySchema.parse({ ...sale, eventName: ' Renewal ' })).toMatchObject({ eventName: 'Renewal' });
  expect(firstIssueCode(trackSaleBodySchema.safeParse({ ...sale, eventName: 'x'.repeat(256) }))).toBe('too_big');
  expect(firstIssueCode(trackSaleBodySchema.safeParse({ ...sale, eventName: null }))).toBe('invalid_type');
});

test.each('stripe shopify polar paddle apple revenuecat lemonsqueezy dub custom'.split(' '))(
  'a sale can have been paid with %s',
  (paymentProcessor) => {
    const sale = { customerExternalId: 'c', amount: 1, paymentProcessor };
    expect(trackSaleBodySchema.parse(sale)).toMatchObject({ paymentProcessor });
    expect(trackSaleClientBodySchema.parse(sale)).toMatchObject({ paymentProcessor });
  },
);

test('blanks around names, click ids and invoices are removed, those around ids of customers are kept', () => {
  const names = { clickId: ' x ', customerExternalId: ' c ' };
  const lead = { ...names, eventName: '\tSign up ' };
  const sale = { ...names, amount: 1, eventName: ' Renewal', invoiceId: ' A ', leadEventName: ' Sign up ' };
  for (const schema of [trackLeadBodySchema, trackLeadClientBodySchema]) {
    expect(schema.parse(lead)).toMatchObject({ clickId: 'x', customerExternalId: ' c ', eventName: 'Sign up' });
    expect(firstIssueCode(schema.safeParse({ ...lead, eventName: ' ' }))).toBe('too_small');
  }
  for (const schema of [trackSaleBodySchema, trackSaleClientBodySchema]) {
    expect(schema.parse(sale)).toMatchObject({
      ...{ clickId: 'x', customerExternalId: ' c ', eventName: 'Renewal', invoiceId: 'A', leadEventName: 'Sign up' },
    });
  }
});

test('metadata longer than 10,000 characters as JSON is rejected', () => {
  const lead = { clickId: 'x', eventName: 'Sign up', customerExternalId: 'c' };
  expect(trackLeadBodySchema.safeParse({ ...lead, metadata: { a: 'x'.repeat(9_992) } }).success).toBe(true);
  expect(trackLeadBodySchema.safeParse({ ...lead, metadata: { a: 'x'.repeat(9_993) } }).success).toBe(false);
});

test('metadata of ordinary shapes is accepted up to 10,000 characters as JSON', () => {
  const line = { productInformation: { sku: 'A-1', size: { w: 1, h: 1 } } };
  const shapes = {
    'a list of numbers': { measurementsInMillimetres: Array(4_980).fill(1) },
    'a list of empty texts': { answers: { comments: Array(3_300).fill('') } },
    'many names': Object.fromEntries(Array.from({ length: 900 }, (_none, at) => [`f${at}`, at])),
    'lines of an order': { orderInformation: { lineItems: Array(165).fill(line) } },
    'a text in Chinese': { 备注: '文'.repeat(9_980) },
    'a text of quotes': { note: '"'.repeat(4_990) },
  };
  for (const [name, metadata] of Object.entries(shapes)) {
    expect(JSON.stringify(metadata).length, name).toBeGreaterThan(9_500);
    const lead = { clickId: 'x', eventName: 'Sign up', customerExternalId: 'c', metadata };
    expect(trackLeadBodySchema.safeParse(lead).error, name).toBeUndefined();
  }
});

test('metadata with many values below a long path is rejected', () => {
  const lead = { clickId: 'x', eventName: 'Sign up', customerExternalId: 'c' };
  const sale = { customerExternalId: 'c', amount: 1 };
  const deep = Array.from({ length: 90 }).reduce<unknown>((inner) => ({ a: inner }), Array(4_000).fill(1));
  for (const metadata of [
    { ['.'.repeat(4_980)]: Array(2_500).fill(1) },
    { deep },
    { ['я'.repeat(60)]: Array(3_300).fill([]) },
  ]) {
    expect(JSON.stringify(metadata).length).toBeLessThanOrEqual(METADATA_CHARS_MAX);
    for (const parsed of [
      trackLeadBodySchema.safeParse({ ...lead, metadata }),
      trackLeadClientBodySchema.safeParse({ ...lead, metadata }),
      trackSaleBodySchema.safeParse({ ...sale, metadata }),
      trackSaleClientBodySchema.safeParse({ ...sale, metadata }),
    ]) {
      expect(firstIssueCode(parsed)).toBe('too_big');
    }
  }
});

test('a permission must be granted by both the role and a scope', () => {
  expect(hasPermission('owner', [], 'webhooks.write')).toBe(true);
  expect(hasPermission('member', [], 'domains.write')).toBe(false);
  expect(hasPermission('viewer', [], 'links.write')).toBe(false);
  expect(hasPermission('owner', ['apis.all'], 'links.write')).toBe(true);
  expect(hasPermission('owner', ['apis.all'], 'webhooks.read')).toBe(false);
  expect(hasPermission('owner', ['apis.read'], 'links.read')).toBe(true);
  expect(hasPermission('owner', ['apis.read'], 'links.write')).toBe(false);
  expect(hasPermission('owner', ['links.write'], 'links.read')).toBe(true);
  expect(hasPermission('owner', ['links.write'], 'tags.read')).toBe(false);
});

test('a viewer and billing may read everything and change nothing', () => {
  const resources = ['links', 'tags', 'folders', 'domains', 'groups', 'workspaces', 'webhooks'] as const;
  const writes: Permission[] = [...resources.map((name) => `${name}.write` as const), 'conversions.write'];
  const reads: Exclude<Permission, 'conversions.write'>[] = [
    ...resources.map((name) => `${name}.read` as const),
    'analytics.read',
  ];
  for (const role of ['viewer', 'billing'] as const) {
    for (const read of reads) {
      expect([hasPermission(role, [], read), hasPermission(role, [read], read)], `${role} ${read}`).toEqual([
        true,
        true,
      ]);
    }
    for (const write of writes) {
      expect([hasPermission(role, [], write), hasPermission(role, ['apis.all'], write)], `${role} ${write}`).toEqual([
        false,
        false,
      ]);
    }
  }
});

test('a read-only key cannot report conversions', () => {
  expect(hasPermission('owner', [], 'conversions.write')).toBe(true);
  expect(hasPermission('member', ['apis.all'], 'conversions.write')).toBe(true);
  expect(hasPermission('owner', ['apis.read', 'analytics.read'], 'conversions.write')).toBe(false);
  expect(hasPermission('viewer', [], 'conversions.write')).toBe(false);
});

test('plans are ordered', () => {
  expect(planAtLeast('business', 'business')).toBe(true);
  expect(planAtLeast('pro', 'business')).toBe(false);
});

test('the placeholder for a deleted customer has all twelve fields', () => {
  expect(customerSchema.parse(deletedCustomer('cus_1')).name).toBe('Deleted Customer');
});
