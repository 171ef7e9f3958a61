import { eventsQuerySchema } from '@waymark/contract';
import type { TestDatabase } from '@waymark/test-kit';
import {
  allowedLinksStats,
  type BindScope,
  type BoundRequest,
  bind,
  type CompiledQuery,
  isBeyondEnd,
  type PlannerStats,
  parse,
  parseCursor,
  plan,
  planAllowedLinks,
  planLinkEventCount,
  planPartialSlotCount,
  planRangeCount,
  planStartSlot,
  planTotalCount,
  printCount,
  printPage,
  printStartSlot,
  printStats,
} from '../src/index.js';
import { NOW } from './world.js';

/** Runs a query; the columns of its rows are text. */
async function tableOf(database: TestDatabase, { sql, params, settings }: CompiledQuery): Promise<string[][]> {
  const result = await database.client.query({
    query: sql,
    query_params: params,
    format: 'JSONCompactEachRow',
    clickhouse_settings: settings as Record<string, string>,
  });
  return result.json<string[]>();
}

/** Finds the start of a page as if it were a far one; undefined = beyond the end. */
async function startOf(
  bound: BoundRequest,
  stats: PlannerStats,
  run: (statement: CompiledQuery) => Promise<string[][]>,
): Promise<PlannerStats | undefined> {
  const head = planPartialSlotCount(bound, stats);
  const counted = head === undefined ? 0n : BigInt((await run(printCount(head)))[0]![0]!);
  const slot = planStartSlot(bound, stats, counted);
  if (slot === undefined) return {};
  const [found] = await run(printStartSlot(slot));
  const slotMs = Date.parse(found?.[0] ?? '');
  return found && { start: { slotMs, offset: slot.offset - BigInt(found[1]!) } };
}

interface PageOptions extends PlannerStats {
  /** Overrides the number of events in the workspace. */
  readonly events?: number;
  readonly nowMs?: number;
  /** Finds the start of the page first, as for a page with a large offset. */
  readonly isFar?: boolean;
}

/** Reads a page like the query service: planner statistics first. */
export async function pageOf(
  database: TestDatabase,
  query: Record<string, string>,
  scope: BindScope,
  { events, nowMs = NOW, isFar, ...known }: PageOptions = {},
): Promise<{ readonly ids: string[]; readonly statements: CompiledQuery[] }> {
  const valid = eventsQuerySchema.parse(query);
  const cursor = parseCursor({ query: valid, workspaceId: scope.workspaceId });
  const bound = bind(parse(valid, nowMs, cursor), scope);
  const statements: CompiledQuery[] = [];
  const table = (statement: CompiledQuery) => {
    statements.push(statement);
    return tableOf(database, statement);
  };
  const run = async (statement: CompiledQuery) => (await table(statement)).map(([first = '']) => first);
  const count = planRangeCount(bound);
  const counted = count === undefined ? undefined : Number((await run(printStats(count)))[0]);
  if (counted !== undefined && isBeyondEnd(bound, counted)) return { ids: [], statements };
  const ever = planTotalCount(bound);
  const countedEver = ever === undefined ? 0 : Number((await run(printStats(ever)))[0]);
  const links = planAllowedLinks(bound, events ?? countedEver);
  const found = links === undefined ? {} : allowedLinksStats((await run(printStats(links))).map(BigInt));
  const few = planLinkEventCount(bound, found);
  const linkEvents = few === undefined ? undefined : Number((await run(printStats(few)))[0]);
  const stats = {
    linkEvents,
    kindEvents: ever === undefined ? undefined : (events ?? countedEver),
    ...known,
    ...found,
  };
  const start = isFar === true ? await startOf(bound, stats, table) : {};
  if (start === undefined) return { ids: [], statements };
  return { ids: await run(printPage(plan(bound, { ...stats, ...start }))), statements };
}
