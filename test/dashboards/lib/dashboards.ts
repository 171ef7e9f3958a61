import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../../clickhouse/dashboards');

/** A query of a panel, as Grafana stores it. */
export interface Target {
  readonly datasource: { readonly type: string; readonly uid: string };
  readonly rawSql: string;
  readonly queryType: string;
}

/** The parts of a panel that the tests use. */
export interface DashboardPanel {
  readonly id: number;
  readonly type: 'row' | 'timeseries' | 'table' | 'stat' | 'bargauge';
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: Target['datasource'];
  /** How values are drawn, in panels that draw any. */
  readonly fieldConfig?: { readonly defaults: { readonly custom?: { readonly spanNulls?: boolean } } };
  /** A range of its own, up to now. */
  readonly timeFrom?: string;
  /** Absent in rows. */
  readonly targets?: readonly Target[];
}

/** The parts of a variable that the tests use. */
export interface Variable {
  readonly name: string;
  readonly query: string;
  /** What stands for all values, unchanged. Without it, all of them are listed. */
  readonly allValue?: string;
}

/** The parts of a dashboard that the tests use. */
export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly DashboardPanel[];
  readonly templating: { readonly list: readonly Variable[] };
}

/** Reads every dashboard of `clickhouse/dashboards`. */
export function readDashboards(): Dashboard[] {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return files.map((file) => JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Dashboard);
}

/** The range that a dashboard shows. */
export interface TimeRange {
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  /** Interval between two points, as Grafana would choose it. */
  readonly intervalSeconds: number;
}

const seconds = (at: number) => `toDateTime(${Math.floor(at / 1000)})`;
const day = (at: number) => `toDate('${new Date(at).toISOString().slice(0, 10)}')`;

/** Expands the SQL of a panel like Grafana's ClickHouse plugin. Throws for an unknown macro or variable. */
export function expandSql(
  sql: string,
  range: TimeRange,
  variables: Readonly<Record<string, readonly string[]>>,
): string {
  const { from, to, intervalSeconds } = range;
  const macros: Readonly<Record<string, (column: string) => string>> = {
    timeFilter: (column) => `${column} >= ${seconds(from)} AND ${column} <= ${seconds(to)}`,
    dateFilter: (column) => `${column} >= ${day(from)} AND ${column} <= ${day(to)}`,
    timeInterval: (column) => `toStartOfInterval(toDateTime(${column}), INTERVAL ${intervalSeconds} second)`,
  };
  const expanded = sql
    .replaceAll('$__interval_s', String(intervalSeconds))
    .replaceAll('$__fromTime', seconds(from))
    .replaceAll('$__toTime', seconds(to))
    .replaceAll(/\$__(\w+)\((\w+)\)/g, (whole, name: string, column: string) => macros[name]?.(column) ?? whole)
    .replaceAll(/\$\{(\w+):csv\}/g, (whole, name: string) => variables[name]?.join(',') ?? whole);
  const unknown = /\$\S+/.exec(expanded)?.[0];
  if (unknown !== undefined) throw new Error(`an unknown macro or variable: ${unknown}`);
  return expanded;
}
