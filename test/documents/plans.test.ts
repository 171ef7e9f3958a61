import { readFileSync } from 'node:fs';
import { PLAN_LIMITS, PLANS, type Quotas } from '@waymark/contract';
import { expect, test } from 'vitest';

/** The cells of the table rows below a heading of docs/reference/plans.md, by the first cell. */
function rowsBelow(heading: string): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync('docs/reference/plans.md', 'utf8');
  const [, section = ''] = text.split(`## ${heading}\n`);
  const [table = ''] = (section.split('\n## ')[0] ?? '').split(/\n\n(?!\|)/);
  const lines = table.split('\n').filter((line) => line.startsWith('| '));
  return new Map(
    lines.map((line) => {
      const [first = '', ...rest] = line.split('|').slice(1, -1);
      return [first.trim(), rest.map((cell) => cell.trim())] as const;
    }),
  );
}

const shown = (limit: number | null) => (limit === null ? 'unlimited' : String(limit));
const withoutCommas = (cells: readonly string[] = []) => cells.map((cell) => cell.replaceAll(',', ''));

const QUOTAS: Readonly<Record<keyof Quotas, string>> = {
  linksPerMonth: 'new links a month',
  eventsPerMonth: 'events a month',
  domains: 'domains',
  tags: 'tags',
  folders: 'folders',
  partners: 'partners',
  partnerTags: 'partner tags',
  partnerGroups: 'partner groups',
};

test.each(PLANS)('docs/reference/plans.md has the rates of the plan %s', (plan) => {
  const { requestsPerMinute, analyticsPerSecond } = PLAN_LIMITS[plan];
  const analytics = analyticsPerSecond === 0 ? 'no access' : String(analyticsPerSecond);
  expect(withoutCommas(rowsBelow('Rates').get(`\`${plan}\``))).toEqual([String(requestsPerMinute), analytics]);
});

test.each(Object.entries(QUOTAS))('docs/reference/plans.md has the quota %s of every plan', (quota, name) => {
  const limits = PLANS.map((plan) => shown(PLAN_LIMITS[plan].quotas[quota as keyof Quotas]));
  expect(withoutCommas(rowsBelow('Quotas').get(name))).toEqual(limits);
});
