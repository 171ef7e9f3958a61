import { type CompiledQuery, Parameters, printCondition, printRead } from '../print/print.js';
import type { Aggregate, AnalyticsPlan, GroupedRead, GroupKey, OwnerRead } from './analytics-plan.js';
import type { Measure } from './groupings.js';

function keyName(index: number): string {
  return `key_${index}`;
}

function printKey(key: GroupKey, parameters: Parameters): string {
  if (key.type === 'column') return key.column;
  const ms = key.column === 'slot' ? 'toInt64(toUnixTimestamp(slot)) * 1000' : `toUnixTimestamp64Milli(${key.column})`;
  return `roundDown(${ms}, ${parameters.placeholder(key.starts)})`;
}

function printAggregate(aggregate: Aggregate): string {
  switch (aggregate.type) {
    case 'rows':
      return 'count()';
    case 'sum':
      return `sum(${aggregate.column})`;
    case 'zero':
      return '0';
  }
}

function groupBy(names: readonly string[]): string {
  return names.length === 0 ? '' : ` GROUP BY ${names.join(', ')}`;
}

/** Aliases differ from the names of the columns: an alias of the same name would hide the column. */
function totalName(measure: Measure): string {
  return `total_${measure}`;
}

function printGroups(group: GroupedRead, measures: readonly Measure[], parameters: Parameters): string {
  const keys = group.keys.map((key, index) => `${printKey(key, parameters)} AS ${keyName(index)}`);
  const totals = group.aggregates.map((aggregate, index) => {
    const sign = group.isSubtracted ? '-' : '';
    return `${sign}toInt64(${printAggregate(aggregate)}) AS ${totalName(measures[index] as Measure)}`;
  });
  const select = printRead(group.read, [...keys, ...totals].join(', '), parameters);
  const conditions = group.having.map((condition) => printCondition(condition, parameters));
  return select + groupBy(group.keys.map((_key, index) => keyName(index))) + printHaving(conditions);
}

function printHaving(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` HAVING ${conditions.join(' AND ')}`;
}

/**
 * HAVING that drops groups without events: a link in the roll-up may have none after the subtraction, or none of these kinds.
 * The sale amount needs no check: without sales it is 0.
 */
function printNonEmpty({ reads, measures, top }: AnalyticsPlan): string {
  if (top === undefined || !reads.some(({ read }) => read.table === 'link_totals')) return '';
  const isAny = measures.filter((measure) => measure !== 'sale_amount').map((measure) => `${totalName(measure)} != 0`);
  return printHaving([`(${isAny.join(' OR ')})`]);
}

function sums(measures: readonly Measure[]): string[] {
  return measures.map((measure) => `sum(part.${totalName(measure)}) AS ${totalName(measure)}`);
}

function printUnion({ reads, measures }: AnalyticsPlan, parameters: Parameters): string {
  return reads.map((read) => printGroups(read, measures, parameters)).join(' UNION ALL ');
}

function printOwner(owner: OwnerRead, inner: string, measures: readonly Measure[], parameters: Parameters): string {
  const column = owner.isList ? `arrayJoin(arrayDistinct(${owner.column}))` : owner.column;
  const rows = printRead(owner.read, `id AS owner_id, ${column} AS owner_key`, parameters);
  const select = [`owner.owner_key AS ${keyName(0)}`, ...sums(measures)].join(', ');
  const join = `FROM (${inner}) AS part INNER JOIN (${rows}) AS owner ON owner.owner_id = part.${keyName(0)}`;
  return `SELECT ${select} ${join} GROUP BY ${keyName(0)}`;
}

/** SQL of an analytics request: columns of the group key, then the numbers. Deterministic: the same plan gives the same text. */
export function printAnalytics(plan: AnalyticsPlan): CompiledQuery {
  const parameters = new Parameters();
  // Register the workspace first, so that it is always the parameter `p0`.
  parameters.workspace(plan.workspace);
  const { reads, measures, owners, top } = plan;
  const keys = reads[0].keys.map((_key, index) => keyName(index));
  let sql = printUnion(plan, parameters);
  if (reads.length > 1 && owners.length === 0) {
    const select = [...keys.map((key) => `part.${key} AS ${key}`), ...sums(measures)].join(', ');
    sql = `SELECT ${select} FROM (${sql}) AS part${groupBy(keys)}`;
  }
  for (const owner of owners) sql = printOwner(owner, sql, measures, parameters);
  sql += printNonEmpty(plan);
  if (top !== undefined) {
    const order = [`${totalName(top.by)} DESC`, ...keys.map((key) => `${key} ASC`)].join(', ');
    sql += ` ORDER BY ${order} LIMIT ${parameters.placeholder({ type: 'UInt64', value: top.limit })}`;
  }
  return { sql, params: parameters.values, settings: plan.settings };
}
