import {
  type BoundRequest,
  type PlannerStats,
  planFirstEvent,
  planPartialSlotCount,
  planStartSlot,
  print,
  printCount,
  printStartSlot,
} from '@waymark/event-query';
import type { Reads } from '../reads.js';

/**
 * Where a far page begins; undefined = beyond the end. No fact when it begins so near that it is found by passing over what
 * lies before it.
 */
export async function findStart(
  reads: Reads,
  bound: BoundRequest,
  facts: PlannerStats,
): Promise<PlannerStats | undefined> {
  const firstEvent = planFirstEvent(bound, facts);
  if (firstEvent !== undefined) {
    const [event] = await reads.run<[id: string, timestamp: string]>(print(firstEvent));
    if (event === undefined) return undefined;
    const [id, timestamp] = event;
    return { start: { type: 'event', first: { timeMs: Date.parse(timestamp), id } } };
  }
  const head = planPartialSlotCount(bound, facts);
  const [count] = head === undefined ? [] : await reads.run<[string]>(printCount(head));
  const slot = planStartSlot(bound, facts, BigInt(count?.[0] ?? 0));
  if (slot === undefined) return {};
  const [found] = await reads.run<[slot: string, before: string]>(printStartSlot(slot));
  if (found === undefined) return undefined;
  const [start, before] = found;
  return { start: { type: 'slot', slotMs: Date.parse(start), offset: slot.offset - BigInt(before) } };
}
