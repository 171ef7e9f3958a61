import type { CustomerRecord } from '@waymark/catalog';
import { createEventId, parseResourceId } from '@waymark/contract';
import { EVENT_TABLES, type EventRow, leadRow } from '@waymark/event-format';
import { type FinalClaim, LEAD_CLAIM_MS, leadClaim, type QueuedRow } from '@waymark/event-queue';

const EVENT_ID = EVENT_TABLES.lead.columns[1].indexOf('event_id');

/** A lead of a request. */
export interface LeadToRecord {
  readonly click: EventRow;
  readonly customerId: string;
  readonly eventName: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  /** The number of leads to record, one row each. */
  readonly quantity: number;
}

/** The rows of a lead. Webhooks receive only the first. */
export function leadRows(lead: LeadToRecord, nowMs: number): QueuedRow[] {
  const first = leadRow(lead.click, {
    eventId: createEventId(nowMs),
    eventName: lead.eventName,
    timestampMs: nowMs,
    customerId: parseResourceId('customer', lead.customerId) ?? '0',
    metadata: lead.metadata,
  });
  // The others differ only in their id; copying avoids serializing the metadata again.
  const others = Array.from({ length: lead.quantity - 1 }, () => first.with(EVENT_ID, createEventId(nowMs)));
  return [{ kind: 'lead', row: first }, ...others.map((row) => ({ kind: 'lead' as const, row, isSilent: true }))];
}

/**
 * The claim of a new customer's first lead. The commit itself takes it, because no other request can refer to the customer yet. Its value is
 * the id of the lead's click, which the answers to repeats contain.
 */
export function firstLeadClaim({ workspaceId, id }: CustomerRecord, eventName: string, clickId: string): FinalClaim {
  return { name: leadClaim(workspaceId, id, eventName), owner: undefined, value: clickId, ttlMs: LEAD_CLAIM_MS };
}
