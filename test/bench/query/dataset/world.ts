import { type EventKind, formatResourceId } from '@waymark/contract';

/** The sizes of a generated data set. */
export interface WorldSizes {
  readonly clicks: number;
  readonly leads: number;
  readonly sales: number;
  readonly links: number;
  readonly workspaces: number;
  readonly seed: number;
}

/** Sizes in the proportions of 30 million clicks, 1 million leads, 300,000 sales, 1 million links and 2000 workspaces. */
export function sizesFor(clicks: number, seed: number): WorldSizes {
  return {
    clicks,
    leads: Math.round(clicks / 30),
    sales: Math.round(clicks / 100),
    links: Math.max(4000, Math.round(clicks / 30)),
    workspaces: 2000,
    seed,
  };
}

/** The current time of every data set: a Saturday. Events are in the eighteen months before it. */
export const END_MS = Date.parse('2026-11-21T08:00:00.000Z');
export const DAY_MS = 24 * 3_600_000;
export const SPAN_MS = 548 * DAY_MS;
export const START_MS = END_MS - SPAN_MS;

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Resources of a workspace are numbered from 1 within a block of numbers of its own. */
const BLOCK = 100_000;
export const TAGS = 200;
export const FOLDERS = 25;
export const GROUPS = 7;
export const PARTNER_TAGS = 11;
/** Number of links of one tenant, and of one partner. */
export const LINKS_PER_TENANT = 50;
/** Workspaces whose rank has this remainder when divided by 3 have removed links: one in two hundred. */
export const REMOVING_REST = 2;

/** A workspace of a data set, by rank: 1 is the busiest. */
export interface BenchWorkspace {
  readonly rank: number;
  /** The number of its id. */
  readonly id: bigint;
  readonly links: number;
}

/** Zipf's law with exponent 1.2: of 2000 workspaces the busiest has a sixth of all events, the last a few hundred of 30 million. */
const EXPONENT = -0.2;

/** Share of the workspaces up to a rank, 1 … count. */
function shareUpTo(rank: number, count: number): number {
  return (1 - (rank + 1) ** EXPONENT) / (1 - (count + 1) ** EXPONENT);
}

/** SQL of the rank for a uniform number; the inverse of the share. */
export function workspaceRank(count: number, u: string): string {
  const rest = 1 - (count + 1) ** EXPONENT;
  return `least(toUInt32(${count}), toUInt32(pow(1 - ${u} * ${rest}, ${1 / EXPONENT})))`;
}

/** Links are distributed like events; every workspace has at least one. */
export function linksOfRank(rank: number, { workspaces, links }: WorldSizes): number {
  return Math.max(1, Math.round(links * (shareUpTo(rank, workspaces) - shareUpTo(rank - 1, workspaces))));
}

/** Number of a tag, folder, partner or other resource of a workspace; `index` from 0. */
export function resourceNumber(rank: number | string, index: number | string): string {
  return `(toUInt64(${rank}) * ${BLOCK} + 1 + ${index})`;
}

export function resourceIdOf(
  kind: 'tag' | 'folder' | 'partner' | 'partnerTag' | 'partnerGroup',
  rank: number,
  index: number,
) {
  return formatResourceId(kind, BigInt(rank * BLOCK + 1 + index));
}

export const TABLES: Readonly<Record<EventKind, string>> = {
  clicks: 'click_events',
  leads: 'lead_events',
  sales: 'sale_events',
};
