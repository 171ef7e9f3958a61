import {
  type MoveEndpoint,
  MoveEndpointError,
  type MoveProgress,
  MoveRefusedError,
  type MoveReport,
  moveDatabase,
} from '@waymark/clickhouse';
import { CommandError } from '../command-error.js';
import { moveProgress } from '../move/move-progress.js';
import { assertServicesStopped } from '../move/stopped-services.js';
import { readMoveTarget } from '../move/target-option.js';
import { withSource } from '../move/with-source.js';
import type { RawOption } from '../option-values.js';
import { type CommandResult, megabytes, table } from '../output.js';
import { withProgress } from '../progress.js';
import { findTarget } from '../stores.js';

/** What the operator has to do next. */
function nextSteps({ connection: { url, database }, cluster }: MoveEndpoint): string[] {
  const settings = [
    `CLICKHOUSE_URL=${url}`,
    `CLICKHOUSE_DATABASE=${database}`,
    ...(cluster === undefined ? [] : [`CLICKHOUSE_CLUSTER=${cluster}`]),
  ];
  return [
    `Next: set ${settings.join(' ')}, CLICKHOUSE_USER and CLICKHOUSE_PASSWORD; keep REDIS_URL, DATA_DIR and INSTANCE_KEY; start.`,
    'The old store is as it was. Delete it when you no longer want to go back; what is written from now on is not in it.',
  ];
}

function reportLines({ tables }: MoveReport, seconds: number): string[] {
  if (tables.length === 0) return ['everything had been copied and compared before; the move is finished now'];
  const rows = tables.map(({ table: name, rows: count, bytes, checksum }) => [
    name,
    String(count),
    megabytes(bytes),
    checksum,
  ]);
  const total = tables.reduce((sum, { rows: count }) => sum + count, 0);
  return [
    ...table([['TABLE', 'ROWS', 'SIZE', 'CHECKSUM'], ...rows]),
    `source and target hold the same ${total} rows; this run took ${seconds.toFixed(1)} s`,
  ];
}

/** Converts errors of a move to messages for the user. */
function explained(err: unknown): unknown {
  if (err instanceof MoveRefusedError) return new CommandError(err.message);
  if (err instanceof MoveEndpointError)
    return new CommandError(`${err.message}. The move is not finished; the same command continues it`);
  return err;
}

/** Copies all tables of this installation into a new database of another server, and compares them. */
export async function moveStore(options: {
  readonly to: RawOption;
  readonly toCluster: RawOption;
}): Promise<CommandResult> {
  const installation = findTarget();
  const target = readMoveTarget({ ...options, password: installation.settings.moveToPassword });
  await assertServicesStopped(installation);
  const startedMs = performance.now();
  let latest: MoveProgress | undefined;
  const onProgress = (progress: MoveProgress) => {
    latest = progress;
  };
  try {
    const report = await withProgress(
      (seconds) => moveProgress(latest, seconds),
      () => withSource(installation, (source) => moveDatabase({ source, target, onProgress })),
      { isLogged: true },
    );
    const seconds = (performance.now() - startedMs) / 1000;
    return {
      data: { ...report, seconds },
      lines: [...reportLines(report, seconds), '', ...nextSteps(target)],
    };
  } catch (err) {
    throw explained(err);
  }
}
