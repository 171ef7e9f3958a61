import type { EngineSession } from '@waymark/test-kit';

/** Workspace 7, whose dashboard is tested, its neighbour in the sort order of tables, and one whose rows are in blocks of their own. */
const WORKSPACES = '[7, 8, 99]';
const EVENTS = ['click_events', 'lead_events', 'sale_events'];
const RECORDS = ['links', 'customers', 'partners', 'workspaces', 'tags', 'folders'];

const columnsOf = async (engine: EngineSession, table: string) =>
  (
    await engine.run(
      `SELECT name, type FROM system.columns WHERE database || '.' || table = '${table}' AND default_kind = ''`,
    )
  )
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t') as [name: string, type: string]);

/**
 * What the n-th row of a workspace has: all texts begin with `own` in workspace 7 and with `other` elsewhere, and numbers of records with
 * that of their workspace.
 */
function sqlOf(table: string, name: string, type: string): string {
  if (name === 'workspace_id' || (name === 'id' && table === 'workspaces')) return 'w';
  if (name === 'deleted') return 'n % 10 = 9';
  if (name === 'data') return `concat('{"id":"', text, '_id","title":"', text, ' title"}')`;
  if (name === 'payload')
    return `replaceAll('{"v":1,"sale":{"paymentProcessor":"-","currency":"-"},"metadata":{"a":"-"},"click":{"id":"x"}}', '-', text)`;
  if (type === 'Array(UInt64)') return '[toUInt64(w * 1000000 + 1)]';
  if (type.startsWith('Array')) return '[]';
  if (type.startsWith('DateTime')) return "toDateTime64('2026-10-01', 3, 'UTC') + n * 10";
  if (type === 'UInt64' && name !== 'version') return 'w * 1000000 + 1 + n % 50';
  if (type.startsWith('FixedString')) return "concat(text, leftPad(toString(n), 16 - length(text), '0'))";
  return type.includes('String') ? "concat(text, ' ', toString(n % 7))" : '1 + n % 7';
}

/** Writes events and records of three workspaces; each table gets one part, which has those of all. */
export async function writeTenants(engine: EngineSession): Promise<void> {
  for (const table of [...EVENTS, ...RECORDS]) {
    const columns = await columnsOf(engine, `waymark.${table}`);
    const values = columns.map(([name, type], index) => `${sqlOf(table, name, type)} AS value_${index}`);
    const count = EVENTS.includes(table) ? 2_000 : 60;
    await engine.run(
      `INSERT INTO waymark.${table} (${columns.map(([name]) => name).join(', ')})
        WITH ${WORKSPACES}[1 + intDiv(number, ${count})] AS w, number % ${count} AS n, if(w = 7, 'own', 'other') AS text
        SELECT ${values.join(', ')} FROM numbers(${3 * count})`,
    );
  }
}

/** Conditions that fail, or show a value in their error, where they are evaluated on a row of another workspace. */
export async function conditionsOn(engine: EngineSession, view: string): Promise<string[]> {
  const columns = await columnsOf(engine, view);
  const names = columns.map(([name]) => name);
  const ofColumns = columns.flatMap(([name, type]) => {
    if (type.includes('String')) return `throwIf(position(ifNull(toString(${name}), ''), 'other') > 0, 'seen') = 0`;
    const isId = name.endsWith('_id') && name !== 'workspace_id';
    return isId ? `throwIf(intDiv(ifNull(${name}, 0), 1000000) IN (8, 99), 'seen') = 0` : [];
  });
  const row = `toString(tuple(${names.join(', ')}))`;
  const conditions = [
    "throwIf(workspace_id != 7, 'seen') = 0",
    `toUInt64(if(position(${row}, 'own') > 0 OR workspace_id = 7, '1', ${row})) > 0`,
    ...ofColumns,
  ];
  // Of the two links beside each other in the projection.
  const ofLinks = names.includes('link_id') ? conditions.map((of) => `link_id IN (7000050, 8000001) AND ${of}`) : [];
  return [...conditions, ...ofLinks];
}

/** Whether an error shows something of another workspace. */
export const isLeak = (message: string) => /DB::Exception: seen|Cannot parse string '[^']*other/.test(message);
