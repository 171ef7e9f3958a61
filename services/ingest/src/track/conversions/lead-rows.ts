import type { CustomerRecord } from '@waymark/catalog';
import { createEventId, parseResourceId } from '@waymark/contract';
import { type EventRow, leadRow } from '@waymark/event-format';
import { type FinalClaim, LEAD_CLAIM_MS, leadClaim, type QueuedRow } from '@waymark/event-queue';

/** A lead of a request. */
export interface LeadToRecord {
  readonly click: EventRow;
  readonly customerId: string;
  readonly eventName: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  /** The number of leads to record, one row each. */
  readonly quantity: number;
}

/** The row of a lead, with a copy for each further one of its quantity. */
export function queuedLead(lead: LeadToRecord, nowMs: number): QueuedRow {
  const row = leadRow(lead.click, {
    eventId: createEventId(nowMs),
    eventName: lead.eventName,
    timestampMs: nowMs,
    customerId: parseResourceId('customer', lead.customerId) ?? '0',
    metadata: lead.metadata,
  });
  const copyIds = Array.from({ length: lead.quantity - 1 }, () => createEventId(nowMs));
  return { kind: 'lead', row, copyIds };
}

/**
 * The claim of a new customer's first lead. The commit itself takes it, because no other request can refer to the customer yet. Its value is
 * the id of the lead's click, which the answers to repeats contain.
 */
export function firstLeadClaim({ workspaceId, id }: CustomerRecord, eventName: string, clickId: string): FinalClaim {
  return { name: leadClaim(workspaceId, id, eventName), owner: undefined, value: clickId, ttlMs: LEAD_CLAIM_MS };
}
