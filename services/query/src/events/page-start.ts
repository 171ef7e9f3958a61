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
 * Finds the 15-minute slot in which a page with a large offset starts; undefined when the page is beyond the end of the list. The result
 * is `{}` when rows are skipped by the query itself: the page has filters, or it starts before the first whole slot, where few are skipped.
 */
export async function findStart(
  reads: Reads,
  bound: BoundRequest,
  stats: PlannerStats,
): Promise<PlannerStats | undefined> {
  const partialSlot = planPartialSlotCount(bound, stats);
  const [count] = partialSlot === undefined ? [] : await reads.run<[string]>(printCount(partialSlot));
  const slot = planStartSlot(bound, stats, BigInt(count?.[0] ?? 0));
  if (slot === undefined) return {};
  const [found] = await reads.run<[slot: string, before: string]>(printStartSlot(slot));
  if (found === undefined) return undefined;
  const [start, before] = found;
  return { start: { slotMs: Date.parse(start), offset: slot.offset - BigInt(before) } };
}
