import type { LinkRecord } from '@waymark/catalog';
import { expect } from 'vitest';
import { aWorkspace, type TestQuery, type TestWorkspace } from '../test-query.js';

export const zeros = { clicks: 0, leads: 0, sales: 0, saleAmount: 0 };
export const clicked = (clicks: number) => ({ ...zeros, clicks });

/** A workspace with events of one link: five clicks of the last day and one before, two leads, two sales. */
export interface AnalyticsWorld {
  readonly workspace: TestWorkspace;
  readonly link: LinkRecord;
  /** The body of a response, which must be successful. */
  rows(parameters: Record<string, string>): Promise<unknown>;
}

export async function anAnalyticsWorld(query: TestQuery): Promise<AnalyticsWorld> {
  const workspace = await aWorkspace(query);
  const link = await workspace.aLink({ key: 'try' });
  const customer = await workspace.aCustomer({ externalId: 'ada' });
  const clicks = [
    workspace.click(link, 5, { city: 'Lyon', region: 'ARA', referer: 't.co', refererUrl: 'https://t.co/x?y=1' }),
    workspace.click(link, 4, {
      country: 'US',
      region: 'CA',
      city: 'Los Angeles',
      continent: 'NA',
      device: 'Mobile',
      browser: 'Chrome',
      os: 'iOS',
      trigger: 'qr',
      url: 'https://acme.com/p?utm_source=news+letter&utm_medium=e-mail&utm_campaign=x&utm_term=a&utm_content=b',
    }),
    workspace.click(link, 3, { country: 'US', region: 'NY', city: 'New York', continent: 'NA', trigger: 'deeplink' }),
    workspace.click(link, 2, { country: 'Unknown', region: 'Unknown', city: 'Unknown', continent: '' }),
    workspace.click(link, 2, { country: 'SG', region: 'Unknown', city: 'Singapore', continent: 'AS' }),
    workspace.click(link, 26 * 60, { country: 'BR', continent: 'SA' }),
  ];
  await workspace.store({
    clicks,
    leads: [workspace.lead(clicks[0]!, customer, 3), workspace.lead(clicks[5]!, customer, 2)],
    sales: [
      workspace.sale(clicks[1]!, customer, 1, { amount: 2900 }),
      workspace.sale(clicks[1]!, customer, 1, { amount: 0, saleType: 'recurring' }),
    ],
  });
  return {
    workspace,
    link,
    async rows(parameters) {
      const { status, body } = await workspace.analytics(parameters);
      expect(status, JSON.stringify(body)).toBe(200);
      return body;
    },
  };
}
