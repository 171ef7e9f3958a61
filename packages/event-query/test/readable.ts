import type { CompiledQuery } from '../src/index.js';

const CLAUSE = /[()]|\b(?:FROM|WHERE|AND|ORDER BY|LIMIT)\b/g;
const CLAUSE_AT_ANY_DEPTH = /[()]|\b(?:SELECT|UNION ALL|FROM|INNER JOIN|WHERE|AND|GROUP BY|HAVING|ORDER BY|LIMIT)\b/g;

/** One line per clause or condition of the outermost query. */
function byClause(sql: string): string {
  let depth = 0;
  return sql.replace(CLAUSE, (part) => {
    if (part === '(') depth += 1;
    else if (part === ')') depth -= 1;
    else if (depth === 0) return `\n  ${part}`;
    return part;
  });
}

/** One line per clause or condition of all subqueries, indented by depth. */
function byDepth(sql: string): string {
  let depth = 0;
  const lines = sql.replace(CLAUSE_AT_ANY_DEPTH, (part) => {
    if (part === '(') depth += 1;
    else if (part === ')') depth -= 1;
    else return `\n${'  '.repeat(depth)}${part}`;
    return part;
  });
  return lines.trim();
}

/** The settings of most statements. Only what differs is printed. */
const USUAL_SETTINGS: CompiledQuery['settings'] = {
  max_execution_time: 20,
  max_memory_usage: 1_000_000_000,
  max_threads: 2,
  distributed_product_mode: 'local',
  optimize_skip_unused_shards: 1,
};

function differences(settings: CompiledQuery['settings']): string[] {
  const isUsual = ([name, value]: [string, unknown]) => USUAL_SETTINGS[name] === value;
  const set = Object.entries(settings).filter((setting) => !isUsual(setting));
  const missing = Object.keys(USUAL_SETTINGS).filter((name) => !(name in settings));
  return [...set.map(([name, value]) => `-- set ${name} = ${value}`), ...missing.map((name) => `-- without ${name}`)];
}

function text(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
}

/** Formats a query for a readable diff: SQL by line, then parameters and the settings that differ from the usual ones. */
export function readable({ sql, params, settings }: CompiledQuery, layout: 'clause' | 'depth' = 'clause'): string {
  const lines = layout === 'clause' ? byClause(sql) : byDepth(sql);
  const values = Object.entries(params).map(([name, value]) => `-- ${name} = ${text(value)}`);
  return [lines.replace(/ \n/g, '\n'), ...values, ...differences(settings)].join('\n');
}
