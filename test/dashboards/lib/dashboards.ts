import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../../clickhouse/dashboards');

export interface Target {
  readonly datasource: { readonly type: string; readonly uid: string };
  readonly rawSql: string;
  readonly queryType: string;
}

/** As much of a panel as the tests need. */
export interface DashboardPanel {
  readonly id: number;
  readonly type: 'row' | 'timeseries' | 'table' | 'stat' | 'bargauge';
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: Target['datasource'];
  /** Rows have none. */
  readonly targets?: readonly Target[];
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly DashboardPanel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
}

export function readDashboards(): Dashboard[] {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return files.map((file) => JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Dashboard);
}

export interface TimeRange {
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  /** Seconds that Grafana would have between two points. */
  readonly intervalSeconds: number;
}

const seconds = (at: number) => `toDateTime(${Math.floor(at / 1000)})`;
const day = (at: number) => `toDate('${new Date(at).toISOString().slice(0, 10)}')`;

/** SQL of a panel as Grafana and its ClickHouse plugin send it. Throws for a macro or variable that it does not know. */
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
    .replaceAll(/\$__(\w+)\((\w+)\)/g, (whole, name: string, column: string) => macros[name]?.(column) ?? whole)
    .replaceAll(/\$\{(\w+):csv\}/g, (whole, name: string) => variables[name]?.join(',') ?? whole);
  const unknown = /\$\S+/.exec(expanded)?.[0];
  if (unknown !== undefined) throw new Error(`nothing is known of ${unknown}`);
  return expanded;
}
