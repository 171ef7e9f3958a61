import { eventsQuerySchema } from '@waymark/contract';
import type { TestDatabase } from '@waymark/test-kit';
import {
  allowedLinksFact,
  type BindScope,
  bind,
  type CompiledQuery,
  isBeyondEnd,
  openCursor,
  type PlanFacts,
  parse,
  plan,
  planCount,
  planLinks,
  print,
  printFact,
} from '../src/index.js';
import { NOW } from './world.js';

/** Rows of a compiled query, first column as text. */
export async function rowsOf(database: TestDatabase, { sql, params, settings }: CompiledQuery): Promise<string[]> {
  const result = await database.client.query({
    query: sql,
    query_params: params,
    format: 'JSONCompactEachRow',
    clickhouse_settings: settings as Record<string, string>,
  });
  return (await result.json<[string]>()).map(([first]) => first);
}

/** Asks for a page the way the query service does, facts first, in a workspace that has so many events. */
export async function pageOf(
  database: TestDatabase,
  query: Record<string, string>,
  scope: BindScope,
  { events, nowMs = NOW, ...known }: PlanFacts & { readonly events?: number; readonly nowMs?: number } = {},
): Promise<{ readonly ids: string[]; readonly statements: CompiledQuery[] }> {
  const valid = eventsQuerySchema.parse(query);
  const cursor = openCursor({ query: valid, workspaceId: scope.workspaceId });
  const bound = bind(parse(valid, nowMs, cursor), scope);
  const statements: CompiledQuery[] = [];
  const run = (statement: CompiledQuery) => {
    statements.push(statement);
    return rowsOf(database, statement);
  };
  const count = planCount(bound);
  const counted = count === undefined ? undefined : Number((await run(printFact(count)))[0]);
  if (counted !== undefined && isBeyondEnd(bound, counted)) return { ids: [], statements };
  const links = planLinks(bound, events ?? counted ?? 0);
  const found = links === undefined ? {} : allowedLinksFact((await run(printFact(links))).map(BigInt));
  return { ids: await run(print(plan(bound, { ...known, ...found }))), statements };
}
