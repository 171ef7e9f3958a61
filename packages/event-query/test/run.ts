import { eventsQuerySchema } from '@waymark/contract';
import type { TestDatabase } from '@waymark/test-kit';
import {
  allowedLinksFact,
  type BindScope,
  type BoundRequest,
  bind,
  type CompiledQuery,
  isBeyondEnd,
  openCursor,
  type PlanFacts,
  parse,
  plan,
  planCount,
  planCountEver,
  planFirstEvent,
  planHead,
  planLinkEvents,
  planLinks,
  planSlot,
  print,
  printCount,
  printFact,
  printSlot,
} from '../src/index.js';
import { NOW } from './world.js';

/** Rows of a compiled query, columns as text. */
async function tableOf(database: TestDatabase, { sql, params, settings }: CompiledQuery): Promise<string[][]> {
  const result = await database.client.query({
    query: sql,
    query_params: params,
    format: 'JSONCompactEachRow',
    clickhouse_settings: settings as Record<string, string>,
  });
  return result.json<string[]>();
}

/** Where a page begins that is treated as a far one; undefined = beyond the end. */
async function startOf(
  bound: BoundRequest,
  facts: PlanFacts,
  run: (statement: CompiledQuery) => Promise<string[][]>,
): Promise<PlanFacts | undefined> {
  const firstEvent = planFirstEvent(bound, facts);
  if (firstEvent !== undefined) {
    const [event] = await run(print(firstEvent));
    return event && { start: { type: 'event', first: { id: event[0]!, timeMs: Date.parse(event[1]!) } } };
  }
  const head = planHead(bound, facts);
  const counted = head === undefined ? 0n : BigInt((await run(printCount(head)))[0]![0]!);
  const slot = planSlot(bound, facts, counted);
  if (slot === undefined) return {};
  const [found] = await run(printSlot(slot));
  const slotMs = Date.parse(found?.[0] ?? '');
  return found && { start: { type: 'slot', slotMs, offset: slot.offset - BigInt(found[1]!) } };
}

interface PageOptions extends PlanFacts {
  /** As if the workspace had so many events. */
  readonly events?: number;
  readonly nowMs?: number;
  /** As if the page were far back. */
  readonly isFar?: boolean;
}

/** Asks for a page the way the query service does, facts first. */
export async function pageOf(
  database: TestDatabase,
  query: Record<string, string>,
  scope: BindScope,
  { events, nowMs = NOW, isFar, ...known }: PageOptions = {},
): Promise<{ readonly ids: string[]; readonly statements: CompiledQuery[] }> {
  const valid = eventsQuerySchema.parse(query);
  const cursor = openCursor({ query: valid, workspaceId: scope.workspaceId });
  const bound = bind(parse(valid, nowMs, cursor), scope);
  const statements: CompiledQuery[] = [];
  const table = (statement: CompiledQuery) => {
    statements.push(statement);
    return tableOf(database, statement);
  };
  const run = async (statement: CompiledQuery) => (await table(statement)).map(([first = '']) => first);
  const count = planCount(bound);
  const counted = count === undefined ? undefined : Number((await run(printFact(count)))[0]);
  if (counted !== undefined && isBeyondEnd(bound, counted)) return { ids: [], statements };
  const ever = planCountEver(bound);
  const countedEver = ever === undefined ? 0 : Number((await run(printFact(ever)))[0]);
  const links = planLinks(bound, events ?? countedEver);
  const found = links === undefined ? {} : allowedLinksFact((await run(printFact(links))).map(BigInt));
  const few = planLinkEvents(bound, found);
  const linkEvents = few === undefined ? undefined : Number((await run(printFact(few)))[0]);
  const facts = { linkEvents, ...known, ...found };
  const start = isFar === true ? await startOf(bound, facts, table) : {};
  if (start === undefined) return { ids: [], statements };
  return { ids: await run(print(plan(bound, { ...facts, ...start }))), statements };
}
