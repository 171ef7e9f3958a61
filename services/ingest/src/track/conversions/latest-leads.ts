import type { CustomerRecord } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import { anonymisedRow, type EventRow } from '@waymark/event-format';
import {
  type EventProducer,
  LATEST_LEAD_MS,
  LEAD_CLAIM_MS,
  latestLeadKey,
  leadNameSlug,
  type StateValue,
} from '@waymark/event-queue';
import { orNotRecorded } from '../not-recorded.js';
import type { Backlog } from './backlog.js';
import type { ClickFinder } from './click-finder.js';
import { CONVERSION_CLICK_SELECTION, conversionClickRowOf, readClick } from './click-rows.js';
import { readRows } from './read-rows.js';

/** Finds the clicks of a customer's leads. */
export interface LatestLeads {
  /**
   * The click id of the customer's first stored lead of that name (see `leadNameSlug`), for leads whose claim has expired in Redis;
   * undefined when there is none.
   */
  firstClickId(customer: CustomerRecord, eventName: string): Promise<string | undefined>;
  /**
   * The row of the latest lead's click; undefined when the customer has no such lead.
   *
   * @param eventName only leads with that name; undefined = any. Then the click of the latest sale, without its texts, stands for that of
   * leads that have all expired
   */
  find(customer: CustomerRecord, eventName: string | undefined): Promise<EventRow | undefined>;
  /** Redis state that the commit of a lead must set, so that a sale right after it finds the lead. */
  state(customer: CustomerRecord, eventName: string, click: EventRow): StateValue[];
}

export interface LatestLeadsOptions {
  readonly clickhouse: ClickHouseClient;
  readonly producer: Pick<EventProducer, 'readState'>;
  readonly clicks: ClickFinder;
  readonly backlog: Backlog;
}

const QUERY = (table: string, condition = '') => `SELECT ${CONVERSION_CLICK_SELECTION} FROM ${table}
WHERE workspace_id = {workspace:UInt64} AND customer_id = {customer:UInt64} ${condition}
ORDER BY timestamp DESC, event_id DESC LIMIT 1`;
const LATEST = QUERY('lead_events');
const LATEST_OF_NAME = QUERY('lead_events', 'AND event_name = {name:String}');
const LATEST_SALE = QUERY('sale_events');
/** Reads all names of a customer's leads, which are few: the lower case of ClickHouse differs from that of `leadNameSlug`. */
const FIRST_OF_NAMES = `SELECT event_name, argMin(click_id, (timestamp, event_id)) FROM lead_events
WHERE workspace_id = {workspace:UInt64} AND customer_id = {customer:UInt64} GROUP BY event_name
ORDER BY min((timestamp, event_id))`;

/** Creates the look-ups for one queue shard. */
export function createLatestLeads({ clickhouse, producer, clicks, backlog }: LatestLeadsOptions): LatestLeads {
  const keyOf = ({ workspaceId, id }: CustomerRecord) => ({
    workspace: parseResourceId('workspace', workspaceId),
    customer: parseResourceId('customer', id),
  });

  async function readClickRow(query: string, parameters: Readonly<Record<string, unknown>>) {
    const [row] = await readRows(clickhouse, query, parameters);
    return row === undefined ? undefined : conversionClickRowOf(row);
  }

  async function findWritten(customer: CustomerRecord, eventName: string | undefined): Promise<EventRow | undefined> {
    const key = keyOf(customer);
    if (eventName !== undefined) return readClickRow(LATEST_OF_NAME, { ...key, name: eventName });
    const ofLead = await readClickRow(LATEST, key);
    if (ofLead !== undefined) return ofLead;
    const ofSale = await readClickRow(LATEST_SALE, key);
    // Without texts, which would otherwise outlive their click by as long as the customer buys.
    return ofSale === undefined ? undefined : anonymisedRow('click', ofSale);
  }

  return {
    async firstClickId(customer, eventName) {
      await backlog.check('lead', LEAD_CLAIM_MS);
      const rows = await orNotRecorded('earlier lead', readRows(clickhouse, FIRST_OF_NAMES, keyOf(customer)));
      return rows.find(([name = '']) => leadNameSlug(name) === leadNameSlug(eventName))?.[1];
    },

    async find(customer, eventName) {
      const recent = producer.readState([latestLeadKey(customer.workspaceId, customer.id, eventName)]);
      const [clickId] = await orNotRecorded('latest lead in Redis', recent);
      if (clickId !== undefined) return clicks.find(customer.workspaceId, clickId, true);
      await backlog.check('lead', LATEST_LEAD_MS);
      return orNotRecorded('latest lead', findWritten(customer, eventName));
    },

    state(customer, eventName, click) {
      const { clickId } = readClick(click);
      return [undefined, eventName].map((name) => ({
        key: latestLeadKey(customer.workspaceId, customer.id, name),
        value: clickId,
        ttlMs: LATEST_LEAD_MS,
      }));
    },
  };
}
