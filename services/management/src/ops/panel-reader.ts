import type { ClickHouseClient } from '@waymark/clickhouse';
import type { OpsAnswer, PlotAnswer } from '@waymark/ops-page';
import { PANEL_GROUPS } from './panel-groups.js';
import type { OpsPanel, PlotPanel } from './panels.js';
import { type PlotRow, plotPoints } from './plot-points.js';
import { type OpsRange, pointsOf } from './range.js';
import { type TableRow, tableHtml } from './table-html.js';

/** What the panels show, as far as it could be read. */
export type PanelAnswers = Pick<OpsAnswer, 'plots' | 'tables' | 'failures'>;

/** Everything has to be read within this time, so that a store that hangs does not hold the strip of components up. */
const READ_MS_MAX = 3000;
/** An answer this old is given again: several people who look on cost as much as one. */
const KEPT_MS = 3000;
/** Queries at a time. Operators must not take the turns of the API. */
const LANES = 2;

const PANELS = PANEL_GROUPS.flatMap(({ panels }) => panels);
const AWAY = 'ClickHouse does not answer.';
const UNREADABLE = 'This could not be read; the log of the service says why.';

const ALL_AWAY: PanelAnswers = {
  plots: {},
  tables: {},
  failures: Object.fromEntries(PANELS.map(({ id }) => [id, AWAY])),
};

/** Whether ClickHouse refused a query, by a number of its own, rather than did not answer. */
function isAnswer(err: unknown): boolean {
  return err instanceof Error && 'code' in err && /^\d+$/.test(String(err.code));
}

export interface PanelReaderDeps {
  readonly clickhouse: Pick<ClickHouseClient, 'rows'>;
  readonly logger: { warn(context: object, message: string): void };
  readonly now: () => number;
}

export interface PanelReader {
  /**
   * Never rejects: what cannot be read is among `failures`.
   *
   * @param isAway ClickHouse is known not to answer, and is not asked
   */
  read(range: OpsRange, isAway: boolean): Promise<PanelAnswers>;
}

interface Reading {
  readonly startedAtMs: number;
  readonly answers: Promise<PanelAnswers>;
}

/** Each panel at its own grain. */
function grainOf(panel: PlotPanel, range: OpsRange): Pick<OpsRange, 'seconds' | 'step'> {
  return { seconds: range.seconds, step: Math.max(range.step, panel.stepMin) };
}

export function createPanelReader({ clickhouse, logger, now }: PanelReaderDeps): PanelReader {
  const readings = new Map<string, Reading>();

  async function rowsOf<Row extends readonly unknown[]>(
    { sql, id }: OpsPanel,
    params: Record<string, number>,
    signal: AbortSignal,
  ): Promise<Row[]> {
    return clickhouse.rows<Row>({
      query: sql,
      parameters: params,
      signal,
      settings: {
        readonly: '2',
        max_execution_time: READ_MS_MAX / 1000,
        cancel_http_readonly_queries_on_client_close: 1,
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
    const grain = grainOf(panel, range);
    const times = pointsOf(grain, nowMs);
    const from = times[0] ?? 0;
    const params = { from, to: from + times.length * grain.step, step: grain.step };
    return plotPoints(panel, times, await rowsOf<PlotRow>(panel, params, signal));
  }

  async function readAll(range: OpsRange): Promise<PanelAnswers> {
    const plots: Record<string, PlotAnswer> = {};
    const tables: Record<string, string> = {};
    const failures: Record<string, string> = {};
    const signal = AbortSignal.timeout(READ_MS_MAX);
    const waiting = [...PANELS];
    const lane = async () => {
      for (let panel = waiting.shift(); panel !== undefined; panel = waiting.shift()) {
        try {
          const answer = await readPanel(panel, range, signal);
          if (typeof answer === 'string') tables[panel.id] = answer;
          else plots[panel.id] = answer;
        } catch (err) {
          logger.warn({ err, panel: panel.id }, 'a panel of the operators could not be read');
          failures[panel.id] = isAnswer(err) ? UNREADABLE : AWAY;
        }
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return { plots, tables, failures };
  }

  return {
    read(range, isAway) {
      if (isAway) return Promise.resolve(ALL_AWAY);
      const nowMs = now();
      const kept = readings.get(range.id);
      if (kept !== undefined && nowMs - kept.startedAtMs < KEPT_MS) return kept.answers;
      const answers = readAll(range);
      readings.set(range.id, { startedAtMs: nowMs, answers });
      return answers;
    },
  };
}
