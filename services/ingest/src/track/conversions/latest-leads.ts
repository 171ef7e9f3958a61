import { createHash } from 'node:crypto';
import type { CustomerRecord } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import { type StateValue, stateKey } from '@waymark/event-queue';
import { orUnavailable } from '../unavailable.js';
import type { Backlog } from './backlog.js';
import type { ClickFinder } from './click-finder.js';
import { LEAD_CLICK_SELECTION, leadClickRowOf, readClick } from './click-rows.js';
import { readRows } from './read-rows.js';

/** Longer than a lead takes to reach ClickHouse; after that it is found there. */
const REMEMBERED_MS = 2 * 3_600_000;

/** The click that a customer's latest lead belongs to. */
export interface LatestLeads {
  /**
   * Starts reading what Redis remembers, before it is known whether the customer exists.
   *
   * @param eventName only leads of that name; undefined = any
   */
  remembered(workspaceId: string, externalId: string, eventName: string | undefined): Promise<string | undefined>;
  /** The row of the lead's click; undefined when the customer has no such lead. */
  find(
    customer: CustomerRecord,
    eventName: string | undefined,
    remembered: Promise<string | undefined>,
  ): Promise<EventRow | undefined>;
  /** What the commit of a lead has to set, so that a sale right after it finds the lead. */
  state(customer: CustomerRecord, eventName: string, click: EventRow): StateValue[];
}

export interface LatestLeadsOptions {
  readonly clickhouse: ClickHouseClient;
  readonly readState: (keys: readonly string[]) => Promise<(string | undefined)[]>;
  readonly clicks: ClickFinder;
  readonly backlog: Backlog;
}

/** Customers and events are hashed: their texts are free, and none of Redis' business. */
function leadKey(workspaceId: string, externalId: string, eventName: string | undefined): string {
  const parts = JSON.stringify(eventName === undefined ? [externalId] : [externalId, eventName]);
  return stateKey(`lead:${workspaceId}:${createHash('sha256').update(parts).digest('base64url').slice(0, 22)}`);
}

/**
 * What Redis notes under a key: whose lead it was, too, since an external id may belong to another customer by the time the
 * note is read.
 */
function noteOf(customer: CustomerRecord, clickId: string): string {
  return `${customer.id} ${clickId}`;
}

/** The click of the customer's own lead; undefined for a note about another one, or of a version that did not say whose. */
function notedClick(customer: CustomerRecord, note: string | undefined): string | undefined {
  const [customerId, clickId] = note?.split(' ') ?? [];
  return customerId === customer.id ? clickId : undefined;
}

const QUERY = (condition: string) => `SELECT ${LEAD_CLICK_SELECTION} FROM lead_events
WHERE workspace_id = {workspace:UInt64} AND customer_id = {customer:UInt64} ${condition}
ORDER BY timestamp DESC, event_id DESC LIMIT 1`;
const LATEST = QUERY('');
const LATEST_OF_NAME = QUERY('AND event_name = {name:String}');

export function createLatestLeads({ clickhouse, readState, clicks, backlog }: LatestLeadsOptions): LatestLeads {
  async function findWritten(customer: CustomerRecord, eventName: string | undefined): Promise<EventRow | undefined> {
    const [row] = await readRows(clickhouse, eventName === undefined ? LATEST : LATEST_OF_NAME, {
      workspace: parseResourceId('workspace', customer.workspaceId),
      customer: parseResourceId('customer', customer.id),
      ...(eventName === undefined ? {} : { name: eventName }),
    });
    return row === undefined ? undefined : leadClickRowOf(row);
  }

  const remember: LatestLeads['remembered'] = async (workspaceId, externalId, eventName) => {
    const [note] = await readState([leadKey(workspaceId, externalId, eventName)]);
    return note;
  };

  return {
    remembered: remember,

    async find(customer, eventName, remembered) {
      const look = async () =>
        // A lead may have been committed after the first look, while its customer was waited for.
        notedClick(customer, await remembered) ??
        notedClick(customer, await remember(customer.workspaceId, customer.externalId, eventName));
      const clickId = await orUnavailable('latest lead in Redis', look());
      if (clickId !== undefined) return clicks.find(customer.workspaceId, clickId);
      await backlog.check('lead', REMEMBERED_MS);
      return orUnavailable('latest lead', findWritten(customer, eventName));
    },

    state(customer, eventName, click) {
      const value = noteOf(customer, readClick(click).clickId);
      return [undefined, eventName].map((name) => ({
        key: leadKey(customer.workspaceId, customer.externalId, name),
        value,
        ttlMs: REMEMBERED_MS,
      }));
    },
  };
}
