import type { EventKind } from '@waymark/contract';
import { DAY_MS, END_MS, TABLES } from '../dataset/world.js';

/*
 * Statements of the baseline for its own tables: link attributes through a subquery with FINAL, UTM values by LIKE on the URL, metadata
 * by JSONExtract, pages by OFFSET. Events of removed links must not be counted, and the baseline has no record of whether there are
 * any, so its counts read the links each time. Its pages need not: such systems remove those events from the page after reading it.
 */

/** A query for the baseline: conditions on the row of the event and on that of the link. All texts are generated. */
export interface BaselineAsk {
  readonly event?: EventKind;
  readonly where?: readonly string[];
  readonly link?: readonly string[];
  /** Days before the current time; undefined = all time. */
  readonly days?: number | undefined;
}

export interface BaselinePage extends BaselineAsk {
  readonly order?: 'ASC' | 'DESC';
  readonly offset?: number;
}

const COLUMNS =
  'click_id, link_id, timestamp, domain, key, url, country, region, city, continent, device, browser, os, ua, trigger, referer, referer_url, ip';
const LEAD = `${COLUMNS}, event_id, event_name, customer_id, metadata`;
const PAGE_COLUMNS: Readonly<Record<EventKind, string>> = {
  clicks: COLUMNS,
  leads: LEAD,
  sales: `${LEAD}, invoice_id, amount, payment_processor, currency`,
};

function time(ms: number): string {
  return `toDateTime64('${new Date(ms).toISOString().replace('T', ' ').replace('Z', '')}', 3, 'UTC')`;
}

function conditions(workspace: string, { where = [], link = [], days }: BaselineAsk, asksLinks: boolean): string {
  const linkSet = `link_id IN (SELECT link_id FROM links FINAL WHERE workspace_id = '${workspace}' AND deleted = 0${link
    .map((condition) => ` AND ${condition}`)
    .join('')})`;
  return [
    `workspace_id = '${workspace}'`,
    ...(days === undefined ? [] : [`timestamp >= ${time(END_MS - days * DAY_MS)}`]),
    `timestamp <= ${time(END_MS)}`,
    ...where,
    ...(asksLinks ? [linkSet] : []),
  ].join(' AND ');
}

export function baselinePage(workspace: string, limit: number, selection: BaselinePage): string {
  const { event = 'clicks', order = 'DESC', offset = 0 } = selection;
  return `SELECT ${PAGE_COLUMNS[event]} FROM ${TABLES[event]} WHERE ${conditions(workspace, selection, selection.link !== undefined)}
ORDER BY timestamp ${order} LIMIT ${limit} OFFSET ${offset}`;
}

/** Reads the clicks of a customer from the copy sorted by click id. */
export function baselineCustomerClicks(workspace: string, limit: number, customer: string): string {
  return `SELECT ${COLUMNS} FROM click_events_by_id WHERE workspace_id = '${workspace}' AND click_id IN (
  SELECT click_id FROM lead_events WHERE workspace_id = '${workspace}' AND customer_id = '${customer}')
ORDER BY timestamp DESC LIMIT ${limit}`;
}

/** The first sale of a customer on a link is the new one; computed in every query. */
export function firstSales(workspace: string): string {
  return `(link_id, customer_id, timestamp) IN (SELECT link_id, customer_id, min(timestamp) FROM sale_events
  WHERE workspace_id = '${workspace}' GROUP BY link_id, customer_id)`;
}

export interface BaselineGroups extends BaselineAsk {
  /** Expressions to group by; without any, everything is counted. */
  readonly by?: string;
  /** A property of the link to group by, with the link columns that it is computed from. */
  readonly byLink?: { readonly column: string; readonly expression: string };
}

export function baselineGroups(workspace: string, selection: BaselineGroups): string {
  const { event = 'clicks', by, byLink } = selection;
  const amount = event === 'sales' ? ', sum(amount) AS amount' : '';
  // The join with the links leaves out those events.
  const from = `${TABLES[event]} WHERE ${conditions(workspace, selection, byLink === undefined || selection.link !== undefined)}`;
  if (byLink !== undefined) {
    return `SELECT ${byLink.expression} AS value, sum(n) AS total FROM (
  SELECT link_id, count() AS n FROM ${from} GROUP BY link_id
) AS counted INNER JOIN (
  SELECT link_id, ${byLink.column} FROM links FINAL WHERE workspace_id = '${workspace}' AND deleted = 0
) AS link ON link.link_id = counted.link_id
WHERE value != '' GROUP BY value ORDER BY total DESC LIMIT 5000`;
  }
  if (by === undefined) return `SELECT count() AS total${amount} FROM ${from}`;
  return `SELECT ${by}, count() AS total${amount} FROM ${from} GROUP BY ALL ORDER BY total DESC LIMIT 5000`;
}
