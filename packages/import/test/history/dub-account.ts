import { API_READ } from '@waymark/catalog';
import { createOutbound } from '@waymark/outbound';
import { onTestFinished } from 'vitest';
import { openApiHistory, type PastEvent } from '../../src/index.js';
import type { StubAnswer, StubRequest } from '../apis/stub-server.js';
import {
  aDubClick,
  aDubCustomer,
  aDubLead,
  aDubLink,
  aDubSale,
  type DubAccount,
  emptyAccount,
  startDub,
} from './stub-dub.js';
import type { TestHistory, Workspace } from './test-history.js';

/** Starts a stub of dub for a test. */
export async function dub(
  account: DubAccount,
  before?: (request: StubRequest, number: number) => StubAnswer | undefined,
) {
  const stub = await startDub(account, before);
  onTestFinished(() => stub.close());
  return stub;
}

/** Two clicks, a lead of each, two sales of the first customer and one of the second; and a customer without events. */
export function anAccount(): DubAccount {
  const account = emptyAccount();
  const [one, other] = [
    aDubClick(1, '2023-01-31T23:59:59.001Z'),
    aDubClick(2, '2024-02-01T00:00:00.002Z', { key: 'buy' }),
  ];
  const [ada, bob] = [aDubCustomer(1), aDubCustomer(2, { name: null, email: null, country: null })];
  account.links.push(aDubLink('try', { clicks: 90, leads: 9 }), aDubLink('buy'));
  account.clicks.push(one, other);
  account.leads.push(
    aDubLead(1, '2023-02-01T00:00:00.000Z', one, ada),
    aDubLead(2, '2024-02-02T00:00:00.000Z', other, bob),
  );
  account.sales.push(
    aDubSale(1, '2023-03-01T00:00:00.000Z', one, ada),
    aDubSale(2, '2023-04-01T00:00:00.000Z', one, ada, { metadata: '{"term":"year"}' }),
    aDubSale(3, '2024-03-01T00:00:00.000Z', other, bob, {
      sale: { amount: 100, invoiceId: null, paymentProcessor: 'new one', currency: 'EUR' },
      ...{ invoice_id: null, metadata: {} },
    }),
  );
  account.customers.push(ada, bob, aDubCustomer(3, { link: aDubLink('try'), createdAt: '2022-01-01T00:00:00.000Z' }));
  return account;
}

/** All events from a position on, read alone. */
export async function pagesOf(address: string, position: object | undefined, now = Date.now): Promise<PastEvent[]> {
  const outbound = createOutbound({ allowedRanges: ['127.0.0.1'] });
  onTestFinished(() => outbound.close());
  const source = openApiHistory({
    ...{ source: 'dub', address, credential: 'key', readsCounts: false, outbound, now },
    wait: async () => undefined,
  });
  const found: PastEvent[] = [];
  for await (const { items } of source.read(position && JSON.stringify(position)))
    found.push(...items.flatMap(({ event }) => event ?? []));
  return found;
}

/** The link of a key: its record, and as a response shows it. */
export async function linkOf(history: TestHistory, { id, host }: Workspace, key: string) {
  const link = await history.catalog.links.findByAddress(host, key, API_READ);
  if (link === undefined) throw new Error(`no link ${key}`);
  const [object] = await history.catalog.links.objects(id, [link], { hidesPasswords: false });
  return { link, object };
}
