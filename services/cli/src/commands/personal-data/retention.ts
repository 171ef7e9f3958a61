import { applyWorkspaceRetention, countExpiredRows, type RetentionReport } from '@waymark/catalog';
import { formatResourceId } from '@waymark/contract';
import { CommandError } from '../../command-error.js';
import { type CommandResult, table } from '../../output.js';
import { findTarget, withCatalog } from '../../stores.js';

type Counts = RetentionReport['counts'];

function linesOf(counts: Counts): string[] {
  if (counts.length === 0) return ['nothing has expired'];
  const rows = counts.map(({ workspace, table: name, rows, addresses }) => [
    formatResourceId('workspace', workspace),
    name,
    String(rows),
    String(addresses),
  ]);
  return table([['WORKSPACE', 'TABLE', 'ROWS', 'ADDRESSES'], ...rows]);
}

const publicCounts = (counts: Counts) =>
  counts.map(({ workspace, ...count }) => ({ workspace: formatResourceId('workspace', workspace), ...count }));

/**
 * `waymark retention`: deletes the data whose retention in a workspace has ended, or counts it.
 *
 * @throws CommandError while another process does the same, and when Redis did not answer in time
 */
export function retainWorkspaces({ dryRun }: { readonly dryRun?: boolean }): Promise<CommandResult> {
  const { clickhouseCluster: cluster } = findTarget().settings;
  return withCatalog(async ({ workspaces }, { clickhouse, queues: [redis] }) => {
    const stores = { workspaces, clickhouse, nowMs: Date.now() };
    if (dryRun === true) {
      const counts = await countExpiredRows(stores);
      return { data: { counts: publicCounts(counts), changed: [], waiting: [] }, lines: linesOf(counts) };
    }
    const report = await applyWorkspaceRetention({ ...stores, redis, cluster });
    if (report === undefined) {
      throw new CommandError('another process is doing this, or Redis did not answer in time; try again');
    }
    const { counts, changed, waiting } = report;
    return {
      data: { counts: publicCounts(counts), changed, waiting },
      lines: [
        ...linesOf(counts),
        ...(changed.length === 0 ? [] : [`ClickHouse rewrites ${changed.join(', ')} in the background`]),
        ...(waiting.length === 0 ? [] : [`${waiting.join(', ')}: an earlier mutation has not ended; run this again`]),
      ],
    };
  });
}
