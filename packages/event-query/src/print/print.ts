import type { PagePlan } from '../plan/plan.js';
import type { StatsPlan } from '../plan/planner-stats.js';
import type { QuerySettings } from '../sql/read-limits.js';
import type { ColumnName, Condition, TableRead, Value } from '../sql/sql-nodes.js';

/** A query ready to run. Values are query parameters, never part of the SQL text. */
export interface CompiledQuery {
  readonly sql: string;
  /** Query parameters by name (`p0`, `p1`, …), numbered in the order of the text. */
  readonly params: Readonly<Record<string, Value['value']>>;
  readonly settings: QuerySettings;
}

/**
 * Assigns placeholders to query parameters. The same `Value` object gets the same placeholder each time. Equal but distinct
 * objects get different ones, so that the SQL text never depends on values.
 */
export class Parameters {
  readonly values: Record<string, Value['value']> = {};
  readonly #names = new Map<Value, string>();
  readonly #workspaces = new Map<bigint, Value>();

  /** The placeholder of a value in the SQL text, such as `{p0:UInt64}`. */
  placeholder(value: Value): string {
    const name = this.#names.get(value) ?? `p${this.#names.size}`;
    this.#names.set(value, name);
    this.values[name] = value.value;
    return `{${name}:${value.type}}`;
  }

  /** The placeholder of a workspace, the same one wherever its number occurs. */
  workspace(number: bigint): string {
    const value = this.#workspaces.get(number) ?? { type: 'UInt64', value: number };
    this.#workspaces.set(number, value);
    return this.placeholder(value);
  }
}

function columnList(columns: readonly ColumnName[]): string {
  return columns.length === 1 ? columns.join() : `(${columns.join(', ')})`;
}

/** SELECT with the conditions of the read, always including the one on the workspace. */
export function printRead(read: Omit<TableRead, 'columns'>, expressions: string, parameters: Parameters): string {
  const table = `${read.table}${read.isFinal ? ' FINAL' : ''}`;
  const guard = `workspace_id = ${parameters.workspace(read.workspace)}`;
  const conditions = read.where.map((condition) => ` AND ${printCondition(condition, parameters)}`);
  return `SELECT ${expressions} FROM ${table} WHERE ${guard}${conditions.join('')}`;
}

/** SQL of a condition. Its values become query parameters. */
export function printCondition(condition: Condition, parameters: Parameters): string {
  switch (condition.type) {
    case 'compare':
      return `${condition.column} ${condition.operator} ${parameters.placeholder(condition.value)}`;
    case 'compareTuple': {
      const values = condition.values.map((value) => parameters.placeholder(value));
      return `${columnList(condition.columns)} ${condition.operator} (${values.join(', ')})`;
    }
    case 'in': {
      const left = condition.isFolded ? `lower(${condition.column})` : condition.column;
      return `${left} IN ${parameters.placeholder(condition.values)}`;
    }
    case 'hasAny':
      return `hasAny(${condition.column}, ${parameters.placeholder(condition.values)})`;
    case 'has':
      return `has(${condition.column}, ${parameters.placeholder(condition.value)})`;
    case 'hasPrefix':
      return `arrayExists(text -> startsWith(text, ${parameters.placeholder(condition.prefix)}), ${condition.column})`;
    case 'numberAt': {
      const number = `metadata_numbers[indexOf(metadata_paths, ${parameters.placeholder(condition.path)})]`;
      return `${number} ${condition.operator} ${parameters.placeholder(condition.number)}`;
    }
    case 'inRead': {
      const read = printRead(condition.read, condition.read.columns.join(', '), parameters);
      return `${columnList(condition.columns)} IN (${read})`;
    }
    case 'not':
      return `NOT (${printCondition(condition.of, parameters)})`;
    case 'and':
    case 'or': {
      const printed = condition.of.map((part) => printCondition(part, parameters));
      return `(${printed.join(condition.type === 'and' ? ' AND ' : ' OR ')})`;
    }
    case 'nothing':
      return 'false';
  }
}

/** SQL of a page. Deterministic: the same plan gives the same text. */
export function printPage(plan: PagePlan): CompiledQuery {
  const parameters = new Parameters();
  const { read, direction } = plan;
  const select = printRead(read, read.columns.join(', '), parameters);
  const order = plan.orderBy.map((column) => `${column} ${direction}`).join(', ');
  const limit = parameters.placeholder({ type: 'UInt64', value: plan.limit });
  const offset = parameters.placeholder({ type: 'UInt64', value: plan.offset });
  return {
    sql: `${select} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}`,
    params: parameters.values,
    settings: plan.settings,
  };
}

/** SQL for planner statistics: one id per row, or one row with a sum. */
export function printStats({ read, isSum, limit, settings }: StatsPlan): CompiledQuery {
  const parameters = new Parameters();
  const columns = read.columns.join(', ');
  const select = printRead(read, isSum ? `sum(${columns})` : columns, parameters);
  const tail = limit === undefined ? '' : ` LIMIT ${parameters.placeholder({ type: 'UInt64', value: limit })}`;
  return { sql: select + tail, params: parameters.values, settings };
}
