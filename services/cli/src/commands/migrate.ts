import { setTimeout as delay } from 'node:timers/promises';
import { answerWithin } from '@waymark/cache';
import { applySchema, type ClickHouseClient, isPlacementApplied, migrationStatus } from '@waymark/clickhouse';
import { CommandError } from '../command-error.js';
import { numberOption, type RawOption } from '../option-values.js';
import { type CommandResult, printStatus, table } from '../output.js';
import { findTarget, withClickHouse } from '../stores.js';

const WAIT_EVERY_MS = 1000;
/** After this time a request counts as failed, because ClickHouse may hang. */
const ANSWER_TIMEOUT_MS = 5_000;

/** `waymark migrate up`: applies all pending migrations, the placement on shards and the retention. */
export function migrateUp(): Promise<CommandResult> {
  const target = findTarget();
  const { settings } = target;
  return withClickHouse(target, async (clickhouse) => {
    const { applied, alreadyApplied, placed, retention } = await applySchema(clickhouse, {
      cluster: settings.clickhouseCluster,
      addressDays: settings.addressRetentionDays,
      eventDays: settings.eventRetentionDays,
    });
    return {
      data: { applied, alreadyApplied, retention },
      lines: [
        ...applied.map((name) => `applied ${name}`),
        `${applied.length} applied, ${alreadyApplied} already applied`,
        ...(placed.length === 0 ? [] : [`placed ${placed.length} tables on the shards`]),
        ...retention,
      ],
    };
  });
}

/** `waymark migrate status`: lists all migrations with their state. */
export function showMigrations(): Promise<CommandResult> {
  const target = findTarget();
  return withClickHouse(target, async (clickhouse) => {
    const migrations = await migrationStatus(clickhouse, { cluster: target.settings.clickhouseCluster });
    const rows = migrations.map(({ name, state, appliedAt }) => [name, state, appliedAt ?? '']);
    return { data: { migrations }, lines: table([['MIGRATION', 'STATE', 'APPLIED'], ...rows]) };
  });
}

/**
 * `waymark migrate wait`: waits until another process has applied all migrations, and the placement on shards. Containers run it before their
 * service.
 *
 * Once ClickHouse has been unreachable for `--unreachable-seconds`, it succeeds as well, for services that work without ClickHouse. A server
 * that answers pings counts as reachable, whatever its other answers. Applied migrations that have changed since are only a warning, because
 * `waymark migrate up` fails for them, and services work on the schema that is there.
 *
 * @throws CommandError after `--seconds`
 */
export async function awaitMigrations(options: {
  readonly seconds: RawOption;
  readonly unreachableSeconds?: RawOption;
}): Promise<CommandResult> {
  const limitSeconds = numberOption('seconds', options.seconds, {});
  const unreachableSeconds = numberOption('unreachable-seconds', options.unreachableSeconds, {
    usual: Number.POSITIVE_INFINITY,
  });
  const target = findTarget();
  return withClickHouse(target, async (clickhouse) => {
    const deadlineMs = performance.now() + limitSeconds * 1000;
    let lastReachedMs = performance.now();
    for (;;) {
      const { missing, isReached, changed } = await missingMigrations(clickhouse, target.settings.clickhouseCluster);
      if (missing === undefined) {
        if (changed > 0)
          printStatus(`${changed} migrations have changed since they were applied; see: waymark migrate status`);
        return { data: { migrated: true }, lines: ['all migrations are applied'] };
      }
      if (isReached) lastReachedMs = performance.now();
      if (performance.now() - lastReachedMs > unreachableSeconds * 1000) {
        const line = `ClickHouse has been unreachable for ${unreachableSeconds} s, not waiting for its migrations: ${missing}`;
        return { data: { migrated: false }, lines: [line] };
      }
      if (performance.now() > deadlineMs) throw new CommandError(`after ${limitSeconds} s still: ${missing}`);
      await delay(WAIT_EVERY_MS);
    }
  });
}

interface SchemaState {
  /** What is missing, as text; undefined when nothing is. */
  readonly missing: string | undefined;
  readonly isReached: boolean;
  /** How many applied migrations have changed since. */
  readonly changed: number;
}

/** Describes what is missing. A server that cannot be reached may still be starting. */
async function missingMigrations(clickhouse: ClickHouseClient, cluster: string | undefined): Promise<SchemaState> {
  try {
    const migrations = await answerWithin(migrationStatus(clickhouse, { cluster }), ANSWER_TIMEOUT_MS);
    const count = (wanted: string) => migrations.filter(({ state }) => state === wanted).length;
    const [changed, pending] = [count('changed'), count('pending')];
    if (pending > 0) {
      const reason = changed > 0 ? `, and ${changed} have changed since they were, for which migrate up fails` : '';
      return { missing: `${pending} migrations are not applied${reason}`, isReached: true, changed };
    }
    const isPlaced = await answerWithin(isPlacementApplied(clickhouse, { cluster }), ANSWER_TIMEOUT_MS);
    const missing = isPlaced
      ? undefined
      : 'tables do not follow the placement on shards, which waymark migrate up applies';
    return { missing, isReached: true, changed };
  } catch (err) {
    const missing = err instanceof Error ? err.message : String(err);
    const isReached = await answerWithin(clickhouse.ping(), ANSWER_TIMEOUT_MS).then(
      ({ success }) => success,
      () => false,
    );
    return { missing, isReached, changed: 0 };
  }
}
