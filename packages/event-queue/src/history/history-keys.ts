import { hash } from 'node:crypto';
import { QUEUE_PREFIX } from '../queue/keys.js';

/**
 * A claim history answers whether a claim was ever final, also after the claim has expired: a Bloom filter over the names of the
 * claims, one Redis string for each workspace and subject. It may answer "perhaps" for a claim that never was, and then ClickHouse
 * decides; it never answers "never" for one that was (README.md says why).
 */

/** `customers` has the claims of customers; `sales` those of invoices and of first sales. */
export type HistorySubject = 'customers' | 'sales';

const SUBJECTS: Readonly<Record<string, HistorySubject>> = {
  customer: 'customers',
  invoice: 'sales',
  'first-sale': 'sales',
};

/** Bits that a claim sets, and reads. */
export const BITS_PER_CLAIM = 4;

/** The place of a claim in its history: positions are unsigned 32-bit numbers, reduced to the size of the history by Redis. */
export interface HistoryPlace {
  readonly key: string;
  readonly positions: readonly number[];
}

/** The key of a history: header and bits, so that both can only be lost together. */
export function historyKey(subject: HistorySubject, workspaceId: string): string {
  return `${QUEUE_PREFIX}:claim-history:${subject}:${workspaceId}`;
}

/** The key of the lease of the process that fills a history. */
export function fillerKey(subject: HistorySubject, workspaceId: string): string {
  return `${historyKey(subject, workspaceId)}:filler`;
}

/** Where a claim is in the history of its workspace; undefined for claims without a history: clicks and leads. */
export function historyPlace(claimName: string): HistoryPlace | undefined {
  const [kind = '', workspaceId = ''] = claimName.split(':', 2);
  const subject = SUBJECTS[kind];
  if (subject === undefined) return undefined;
  const digest = hash('sha256', claimName, 'buffer');
  const positions = Array.from({ length: BITS_PER_CLAIM }, (_none, index) => digest.readUInt32LE(index * 4));
  return { key: historyKey(subject, workspaceId), positions };
}
