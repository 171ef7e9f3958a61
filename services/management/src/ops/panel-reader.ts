import type { ClickHouseClient } from '@waymark/clickhouse';
import { hasElapsed } from '@waymark/contract';
import type { OpsAnswer, PlotAnswer } from '@waymark/ops-page';
import { PANEL_GROUPS } from './panel-groups.js';
import type { OpsPanel, PlotPanel } from './panel-types.js';
import { type PlotRow, plotPoints } from './plot-points.js';
import { type OpsRange, pointsOf } from './range.js';
import { type TableRow, tableHtml } from './table-html.js';

/** The content of the panels, and errors of those that could not be read. */
export type PanelAnswers = Pick<OpsAnswer, 'plots' | 'tables' | 'failures'>;

/** Time limit for reading all panels, so that a store that hangs does not delay the list of components. */
const READ_MS_MAX = 3000;
/** How long a result is cached, so that several viewers cost as much as one. */
const CACHE_MS = 3000;
/** Concurrent queries; low, so that this page does not slow down the API. */
const CONCURRENT_QUERIES_MAX = 2;

const PANELS = PANEL_GROUPS.flatMap(({ panels }) => panels);
const CLICKHOUSE_DOWN = 'ClickHouse does not answer.';
const TOO_SLOW = 'This panel took too long to read.';
const UNREADABLE = 'This panel could not be read; the reason is in the log of the service.';

const ALL_DOWN: PanelAnswers = {
  plots: {},
  tables: {},
  failures: Object.fromEntries(PANELS.map(({ id }) => [id, CLICKHOUSE_DOWN])),
};

/** Codes of statements that ClickHouse has aborted for their time. */
const TIME_CODES: readonly unknown[] = ['159', '160'];

/** What the page says about a panel that could not be read. */
function reasonOf(err: unknown, signal: AbortSignal): string {
  const code = err instanceof Error && 'code' in err ? err.code : undefined;
  if (signal.aborted || TIME_CODES.includes(code)) return TOO_SLOW;
  // ClickHouse rejected the query; errors of the connection have a code of Node.js.
  return /^\d+$/.test(String(code)) ? UNREADABLE : CLICKHOUSE_DOWN;
}

/** Dependencies of {@link createPanelReader}. */
export interface PanelReaderDeps {
  readonly clickhouse: Pick<ClickHouseClient, 'rows'>;
  readonly logger: { warn(context: object, message: string): void };
  readonly now: () => number;
  /** Time limit for reading all panels. Tests shorten it. */
  readonly readMsMax?: number;
}

/** Reads the panels of the operations page, with a cache. */
export interface PanelReader {
  /**
   * Never rejects: panels that cannot be read are listed in `failures`.
   *
   * @param isAway whether ClickHouse is known to be down; then it is not queried
   */
  read(range: OpsRange, isAway: boolean): Promise<PanelAnswers>;
}

/** A read of all panels, which is cached. */
interface Reading {
  readonly startedAtMs: number;
  readonly answers: Promise<PanelAnswers>;
}

/** The resolution of a panel in a range. */
function resolutionOf(panel: PlotPanel, range: OpsRange): Pick<OpsRange, 'seconds' | 'step'> {
  return { seconds: range.seconds, step: Math.max(range.step, panel.stepMin) };
}

/** Creates a {@link PanelReader}. */
export function createPanelReader(deps: PanelReaderDeps): PanelReader {
  const { clickhouse, logger, now, readMsMax = READ_MS_MAX } = deps;
  const readings = new Map<string, Reading>();
  /** How long each panel took when it was last read, by range and panel. */
  const durationsMs = new Map<string, number>();
  /** Why each panel could not be read when this was last logged, by range and panel. */
  const logged = new Map<string, string>();

  async function rowsOf<Row extends readonly unknown[]>(
    { sql, id }: OpsPanel,
    params: Record<string, number>,
    signal: AbortSignal,
  ): Promise<Row[]> {
    return clickhouse.rows<Row>({
      query: sql,
      parameters: params,
      signal,
      owner: 'ops',
      settings: {
        max_execution_time: readMsMax / 1000,
        log_comment: `GET /ops ${id}`,
        output_format_json_quote_64bit_integers: 0,
      },
    });
  }

  async function readPanel(panel: OpsPanel, range: OpsRange, signal: AbortSignal): Promise<PlotAnswer | string> {
    const nowMs = now();
    if (panel.kind === 'table') {
      const to = Math.ceil(nowMs / 1000);
      const params = { from: to - range.seconds, to, step: range.step };
      return tableHtml(panel, await rowsOf<TableRow>(panel, params, signal));
    }
    const grain = resolutionOf(panel, range);
    const times = pointsOf(grain, nowMs);
    const from = times[0] ?? 0;
    const params = { from, to: from + times.length * grain.step, step: grain.step };
    return plotPoints(panel, times, await rowsOf<PlotRow>(panel, params, signal));
  }

  async function readAll(range: OpsRange): Promise<PanelAnswers> {
    const plots: Record<string, PlotAnswer> = {};
    const tables: Record<string, string> = {};
    const failures: Record<string, string> = {};
    const signal = AbortSignal.timeout(readMsMax);
    const keyOf = ({ id }: OpsPanel) => `${range.id} ${id}`;
    const durationOf = (panel: OpsPanel) => durationsMs.get(keyOf(panel)) ?? 0;
    // The slowest last, so that they do not take the time of all others.
    const waiting = PANELS.toSorted((a, b) => durationOf(a) - durationOf(b));
    const readOne = async (panel: OpsPanel) => {
      const startedAtMs = performance.now();
      const isInTime = !signal.aborted;
      try {
        signal.throwIfAborted();
        const answer = await readPanel(panel, range, signal);
        if (typeof answer === 'string') tables[panel.id] = answer;
        else plots[panel.id] = answer;
        logged.delete(keyOf(panel));
      } catch (err) {
        const reason = reasonOf(err, signal);
        failures[panel.id] = reason;
        if (logged.get(keyOf(panel)) !== reason)
          logger.warn({ err, panel: panel.id }, 'a panel of /ops could not be read');
        logged.set(keyOf(panel), reason);
      }
      // A panel for which no time was left is read before panels that are as slow.
      const durationMs = signal.aborted ? readMsMax : performance.now() - startedAtMs;
      durationsMs.set(keyOf(panel), isInTime ? durationMs : durationOf(panel) * 0.9);
    };
    const worker = async () => {
      for (let panel = waiting.shift(); panel !== undefined; panel = waiting.shift()) await readOne(panel);
    };
    await Promise.all(Array.from({ length: CONCURRENT_QUERIES_MAX }, worker));
    const isAnswering = Object.values(failures).includes(UNREADABLE) || Object.keys({ ...plots, ...tables }).length > 0;
    return { plots, tables, failures: isAnswering ? failures : ALL_DOWN.failures };
  }

  return {
    read(range, isAway) {
      if (isAway) return Promise.resolve(ALL_DOWN);
      const nowMs = now();
      const kept = readings.get(range.id);
      if (kept !== undefined && !hasElapsed(kept.startedAtMs, CACHE_MS, nowMs)) return kept.answers;
      const answers = readAll(range);
      readings.set(range.id, { startedAtMs: nowMs, answers });
      return answers;
    },
  };
}
