import { applyWorkspaceRetention, countExpiredRows, type RetentionReport } from '@waymark/catalog';
import { formatResourceId } from '@waymark/contract';
import { CommandError } from '../../command-error.js';
import { type CommandResult, table } from '../../output.js';
import { findTarget, withCatalog } from '../../stores.js';

type Expired = Pick<RetentionReport, 'counts' | 'uncounted'>;

function linesOf({ counts, uncounted }: Expired): string[] {
  if (uncounted.length > 0) {
    const tables = [...new Set(uncounted.map(({ table: name }) => name))];
    return [...linesOf({ counts, uncounted: [] }), `${tables.join(', ')}: more than could be counted in time`];
  }
  if (counts.length === 0) return ['nothing has expired'];
  const rows = counts.map(({ workspace, table: name, rows, addresses }) => [
    formatResourceId('workspace', workspace),
    name,
    String(rows),
    String(addresses),
  ]);
  return table([['WORKSPACE', 'TABLE', 'ROWS', 'ADDRESSES'], ...rows]);
}

const publicCounts = ({ counts }: Expired) =>
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
      const expired = await countExpiredRows(stores);
      return { data: { counts: publicCounts(expired), changed: [], waiting: [] }, lines: linesOf(expired) };
    }
    const report = await applyWorkspaceRetention({ ...stores, redis, cluster });
    if (report === undefined) {
      throw new CommandError('another process is doing this, or Redis did not answer in time; try again');
    }
    const { changed, waiting, failed } = report;
    const [first] = failed;
    if (first !== undefined) {
      const tables = [...new Set(failed.map(({ table: name }) => name))].join(', ');
      const message = first.err instanceof Error ? first.err.message : String(first.err);
      throw new CommandError(`${tables}: ${message}; run this again. Other tables were not affected`);
    }
    return {
      data: { counts: publicCounts(report), changed, waiting: waiting.map(({ table: name }) => name) },
      lines: [
        ...linesOf(report),
        ...(changed.length === 0 ? [] : [`ClickHouse rewrites ${changed.join(', ')} in the background`]),
        ...waiting.map(({ table: name, since, failure }) => {
          const why = failure === '' ? '' : `: ${failure}`;
          return `${name}: a mutation of ${since} has not ended; run this again${why}`;
        }),
      ],
    };
  });
}
