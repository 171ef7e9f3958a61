import type { Customer } from '@waymark/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let acme: Caller;
beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

it.each([
  ['avatar', '/a.png', '/b.png', 'https://acme.com/b.png', 'must be an http or https URL'],
  ['email', 'jörg@müller.de', 'jörg@müller.com', 'joerg@mueller.de', 'must be an email address'],
])('the %s that a lead or an import has stored may be sent back, but no other of its form', async (field, ...texts) => {
  const [stored, other, valid, rule] = texts;
  const { id } = await management.catalog.customers.create(acme.workspaceId, {
    externalId: `with-${field}`,
    [field]: stored,
  });
  const change = (text: string | null) =>
    acme.call<Customer>('PATCH', `/customers/${id}`, { name: 'Ada', [field]: text });
  expect(await change(stored)).toMatchObject({ status: 200, body: { [field]: stored } });
  expect(await change(other)).toMatchObject({
    ...{ status: 422, body: { error: { message: `invalid_format: ${field}: ${rule}` } } },
  });
  expect(await change(valid)).toMatchObject({ status: 200, body: { [field]: valid } });
  expect((await change(stored)).status).toBe(422);
  expect(await change(null)).toMatchObject({ status: 200, body: { [field]: null } });
  expect((await change('')).status).toBe(422);
});
