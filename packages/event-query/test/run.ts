import { eventsQuerySchema } from '@waymark/contract';
import type { TestDatabase } from '@waymark/test-kit';
import {
  allowedLinksFact,
  type BindScope,
  bind,
  type CompiledQuery,
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

/** Asks for a page the way the query service does, facts first. */
export async function pageOf(
  database: TestDatabase,
  query: Record<string, string>,
  scope: BindScope,
  known: PlanFacts = {},
): Promise<{ readonly ids: string[]; readonly statements: CompiledQuery[] }> {
  const bound = bind(parse(eventsQuerySchema.parse(query), NOW), scope);
  const statements: CompiledQuery[] = [];
  const run = (statement: CompiledQuery) => {
    statements.push(statement);
    return rowsOf(database, statement);
  };
  const count = planCount(bound);
  if (count !== undefined) {
    const [events] = await run(printFact(count));
    if (bound.page.offset >= BigInt(events ?? 0)) return { ids: [], statements };
  }
  const links = planLinks(bound);
  const found = links === undefined ? {} : allowedLinksFact((await run(printFact(links))).map(BigInt));
  return { ids: await run(print(plan(bound, { ...known, ...found }))), statements };
}
