import {
  type BoundRequest,
  type PlannerStats,
  planPartialSlotCount,
  planStartSlot,
  printCount,
  printStartSlot,
} from '@waymark/event-query';
import type { Reads } from '../reads.js';

/**
 * Finds the start of a page with a large offset; undefined = beyond the end. The result is empty when the page has filters, and when
 * it begins before the first whole 15-minute slot: skipping so few rows is fast enough.
 */
export async function findStart(
  reads: Reads,
  bound: BoundRequest,
  stats: PlannerStats,
): Promise<PlannerStats | undefined> {
  const head = planPartialSlotCount(bound, stats);
  const [count] = head === undefined ? [] : await reads.run<[string]>(printCount(head));
  const slot = planStartSlot(bound, stats, BigInt(count?.[0] ?? 0));
  if (slot === undefined) return {};
  const [found] = await reads.run<[slot: string, before: string]>(printStartSlot(slot));
  if (found === undefined) return undefined;
  const [start, before] = found;
  return { start: { slotMs: Date.parse(start), offset: slot.offset - BigInt(before) } };
}
