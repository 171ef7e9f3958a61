import {
  addServers,
  type ClickHouseClient,
  LOGICAL_SHARDS,
  listShards,
  moveShard,
  type RunningMutation,
  removeDeletedRows,
  type ShardList,
  ShardMoveError,
  type ShardMoveReport,
  ShardThereError,
} from '@waymark/clickhouse';
import { CommandError } from '../command-error.js';
import { numberOption, type RawOption } from '../option-values.js';
import { type CommandResult, printMessage, table } from '../output.js';
import { findTarget, withClickHouse } from '../stores.js';

const RANGE = /^(\d{1,3})(?:-(\d{1,3}))?$/;

/** Runs `work` with a client for the cluster of this installation. @throws CommandError without a cluster */
async function onCluster<T>(work: (client: ClickHouseClient, cluster: string) => Promise<T>): Promise<T> {
  const target = findTarget();
  const { clickhouseCluster: cluster } = target.settings;
  if (cluster === undefined) throw new CommandError('only a cluster has shards: set CLICKHOUSE_CLUSTER');
  return withClickHouse(target, (client) => work(client, cluster)).catch((err: unknown) => {
    throw err instanceof ShardMoveError ? new CommandError(err.message) : err;
  });
}

/** Formats ascending numbers with ranges, such as `0-9 12`. */
export function rangesText(numbers: readonly number[]): string {
  const ranges: [from: number, to: number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(' ');
}

/** Parses numbers and ranges of logical shards, such as `17` and `40-49`. @throws CommandError */
export function readRanges(texts: readonly string[]): number[] {
  if (texts.length === 0)
    throw new CommandError(`name logical shards from 0 to ${LOGICAL_SHARDS - 1}, such as 17 40-49`);
  const numbers = texts.flatMap((text) => {
    const [, first, last = first] = RANGE.exec(text) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (first === undefined || from > to || to >= LOGICAL_SHARDS)
      throw new CommandError(
        `${text}: logical shards are numbers from 0 to ${LOGICAL_SHARDS - 1}, or ranges such as 40-49`,
      );
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
  return [...new Set(numbers)];
}

/** Maximum characters of the list of logical shards in the table. */
const LOGICAL_SHOWN = 60;

/** `waymark shards list`: shows the shards and their logical shards. */
export function showShards(): Promise<CommandResult> {
  return onCluster(async (client, cluster) => {
    const list = await listShards(client, { cluster });
    const rows = list.shards.map(({ shard, servers, logical }) => {
      const ranges = rangesText(logical);
      const shown = ranges.length > LOGICAL_SHOWN ? `${ranges.slice(0, LOGICAL_SHOWN)} …` : ranges;
      return [String(shard), servers.join(' '), String(logical.length), shown];
    });
    const { move } = list;
    const unfinished =
      move === undefined
        ? []
        : ['', `not finished: \`npx waymark shards move ${move.logical} --to ${move.to}\` continues it`];
    return { data: { ...list }, lines: [...table([['SHARD', 'SERVERS', 'LOGICAL', 'WHICH'], ...rows]), ...unfinished] };
  });
}

/** `waymark shards add`: creates the tables on new servers of the cluster. */
export function addShards(): Promise<CommandResult> {
  return onCluster(async (client, cluster) => {
    const added = await addServers(client, { cluster });
    const lines =
      added.length === 0 ? ['every server has the tables'] : added.map((name) => `created the tables on ${name}`);
    return { data: { added }, lines };
  });
}

function reportLine({ logical, from, to, rows }: ShardMoveReport): string {
  const counts = Object.entries(rows).map(([name, count]) => `${count} of ${name}`);
  return `moved logical shard ${logical} from shard ${from} to ${to}: ${counts.length === 0 ? 'no rows' : counts.join(', ')}`;
}

/**
 * What is left to move of the named logical shards, and which of them are at their new shard already, as after a move of some that was
 * killed. The unfinished move is first, so that a repeated command continues it.
 */
function leftToMove(
  { shards, move }: ShardList,
  named: readonly number[],
  to: number,
): [left: number[], there: number[]] {
  const unfinished = move !== undefined && move.to === to && named.includes(move.logical) ? [move.logical] : [];
  const others = named.filter((logical) => !unfinished.includes(logical));
  const placed = new Set(shards.find(({ shard }) => shard === to)?.logical);
  return [
    [...unfinished, ...others.filter((logical) => !placed.has(logical))],
    others.filter((logical) => placed.has(logical)).sort((a, b) => a - b),
  ];
}

/** Prints what a move waits for, once for each text. */
function waitPrinter(): (running: readonly RunningMutation[]) => void {
  let printed = '';
  return (running) => {
    const text = running
      .map(({ server, table: name, error }) => `${name} on ${server}${error === '' ? '' : `, which fails: ${error}`}`)
      .join('; ');
    if (text !== printed) printMessage(`waiting until the mutations have ended of ${text}`);
    printed = text;
  };
}

/** `waymark shards move`: moves logical shards to another shard, one after the other. The same command continues after a kill. */
export function moveShards(logical: readonly string[], { to }: { readonly to: RawOption }): Promise<CommandResult> {
  return onCluster(async (client, cluster) => {
    const shard = numberOption('to', to, { min: 1, isWhole: true, what: 'the number of a shard' });
    const [left, there] = leftToMove(await listShards(client, { cluster }), readRanges(logical), shard);
    const printThere = (numbers: readonly number[]) =>
      printMessage(`on shard ${shard} already: ${rangesText(numbers)}`);
    if (there.length > 0) printThere(there);
    const moves: ShardMoveReport[] = [];
    const onWait = waitPrinter();
    // With nothing left to move, one of those that are there is tried: that removes the fences which a command that stood still may have left.
    for (const number of left.length > 0 ? left : there.slice(0, 1)) {
      try {
        const report = await moveShard(client, { cluster, logical: number, to: shard, onWait });
        printMessage(reportLine(report));
        moves.push(report);
      } catch (err) {
        // Moved by another run of the command, for whose end this one has waited.
        if (!(err instanceof ShardThereError)) throw err;
        if (there.includes(number)) continue;
        printThere([number]);
        there.push(number);
      }
    }
    await removeDeletedRows(client, {
      cluster,
      onBegin: (one) => printMessage(`removing moved rows from the files of ${one.table} on shard ${one.shard}`),
    });
    return { data: { moves, there }, lines: [`${moves.length} moved`] };
  });
}
