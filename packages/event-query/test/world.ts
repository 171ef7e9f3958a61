import { EVENT_ID_LENGTH, type EventKind, formatResourceId } from '@waymark/contract';
import { aClick, aLead, aSale, insertClicks, insertLeads, insertSales, type TestDatabase } from '@waymark/test-kit';
import type { Metadata } from './metadata-query/evaluate.js';

/** The current time in these tests: Saturday 21 November 2026, 14:30 UTC. */
export const NOW = Date.parse('2026-11-21T14:30:00.250Z');

/** A link of the test data. Numbers are the 64-bit numbers behind the ids. */
export interface WorldLink {
  readonly number: number;
  readonly domain: string;
  readonly key: string;
  readonly tenantId: string;
  readonly tags: readonly number[];
  readonly folder: number;
  readonly partner: number;
  readonly program: number;
  readonly isRemoved: boolean;
}

export interface WorldPartner {
  readonly number: number;
  readonly group: number;
  readonly tags: readonly number[];
}

export interface WorldClick {
  readonly id: string;
  readonly timeMs: number;
  readonly link: number;
  readonly trigger: 'link' | 'qr' | 'pageview' | 'deeplink';
  readonly country: string;
  readonly region: string;
  readonly city: string;
  readonly continent: string;
  readonly device: string;
  readonly browser: string;
  readonly os: string;
  readonly referer: string;
  readonly refererUrl: string;
  readonly url: string;
}

export interface WorldConversion {
  readonly id: string;
  readonly timeMs: number;
  readonly eventName: string;
  readonly customer: number;
  readonly metadata: Metadata;
  readonly saleType: 'new' | 'recurring';
  /** Only for sales, in cents. */
  readonly amount: number;
  readonly click: WorldClick;
}

/** The test data of one workspace. */
export interface World {
  readonly workspace: number;
  readonly links: readonly WorldLink[];
  readonly partners: readonly WorldPartner[];
  readonly clicks: readonly WorldClick[];
  readonly leads: readonly WorldConversion[];
  readonly sales: readonly WorldConversion[];
}

/** Numbers of the removed links. */
export const removedLinksOf = ({ links }: Pick<World, 'links'>): bigint[] =>
  links.filter(({ isRemoved }) => isRemoved).map(({ number }) => BigInt(number));

export const linkId = (number: number) => formatResourceId('link', String(number));
export const tagId = (number: number) => formatResourceId('tag', String(number));
export const folderId = (number: number) => formatResourceId('folder', String(number));
export const groupId = (number: number) => formatResourceId('partnerGroup', String(number));
export const partnerTagId = (number: number) => formatResourceId('partnerTag', String(number));
export const partnerId = (number: number) => formatResourceId('partner', String(number));
export const programId = (number: number) => formatResourceId('program', String(number));
export const customerId = (number: number) => formatResourceId('customer', String(number));
export const workspaceId = (number: number) => formatResourceId('workspace', String(number));

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_BITS = 53n;

/** An event id with the given time and, instead of the random part, a number: ids of the same millisecond sort by it. */
export function idOf(timeMs: number, number: number): string {
  let rest = (BigInt(timeMs) << RANDOM_BITS) | BigInt(number);
  let text = '';
  for (let position = 0; position < EVENT_ID_LENGTH; position++) {
    text = DIGITS[Number(rest % 62n)] + text;
    rest /= 62n;
  }
  return text;
}

/** The number in an id from {@link idOf}. */
export function numberIn(id: string): number {
  const value = [...id].reduce((sum, digit) => sum * 62n + BigInt(DIGITS.indexOf(digit)), 0n);
  return Number(BigInt.asUintN(Number(RANDOM_BITS), value));
}

let nextWorkspace = 1000;
/** A workspace that no other test of this file uses. */
export function freshWorkspace(): number {
  nextWorkspace += 1;
  return nextWorkspace;
}

function linkRows({ workspace, links }: World): Record<string, unknown>[] {
  return links.flatMap((link) => {
    const row = {
      workspace_id: workspace,
      id: link.number,
      version: 1,
      deleted: 0,
      domain: link.domain,
      key: link.key,
      tenant_id: link.tenantId,
      tag_ids: link.tags,
      folder_id: link.folder,
      partner_id: link.partner,
      program_id: link.program,
    };
    return link.isRemoved ? [row, { ...row, version: 2, deleted: 1 }] : [row];
  });
}

/** Two versions of each row: queries must only see the newest. */
function partnerRows({ workspace, partners }: World): Record<string, unknown>[] {
  return partners.flatMap(({ number, group, tags }) => {
    const row = { workspace_id: workspace, id: number, version: 2, deleted: 0, group_id: group, partner_tag_ids: tags };
    return [{ ...row, version: 1, group_id: 99, partner_tag_ids: [99] }, row];
  });
}

function clickRowOf(world: World, { id, timeMs, link, ...fields }: WorldClick) {
  return aClick({
    ...fields,
    workspaceId: String(world.workspace),
    linkId: String(link),
    clickId: id,
    timestampMs: timeMs,
  });
}

function conversionFields(world: World, { id, timeMs, eventName, customer, metadata, click }: WorldConversion) {
  return {
    click: clickRowOf(world, click),
    eventId: id,
    eventName,
    timestampMs: timeMs,
    customerId: String(customer),
    metadata,
  };
}

/** Inserts the rows that the writer and the catalog would insert. */
export async function store({ client }: TestDatabase, world: World): Promise<void> {
  await client.insert({ table: 'links', values: linkRows(world), format: 'JSONEachRow' });
  await client.insert({ table: 'partners', values: partnerRows(world), format: 'JSONEachRow' });
  // Two inserts put events of the same millisecond into different parts, so that their order depends on ORDER BY.
  for (const remainder of [0, 1]) {
    const half = world.clicks.filter((_click, index) => index % 2 === remainder);
    await insertClicks(
      client,
      half.map((click) => clickRowOf(world, click)),
    );
  }
  await insertLeads(
    client,
    world.leads.map((lead) => aLead(conversionFields(world, lead))),
  );
  await insertSales(
    client,
    world.sales.map((sale) =>
      aSale({ ...conversionFields(world, sale), saleType: sale.saleType, amount: sale.amount }),
    ),
  );
}

export function eventsOf(world: World, kind: EventKind): readonly (WorldClick | WorldConversion)[] {
  return world[kind];
}
