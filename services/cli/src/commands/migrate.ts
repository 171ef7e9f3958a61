import { setTimeout as delay } from 'node:timers/promises';
import {
  applyPlacement,
  applyQueryLogView,
  applyRetention,
  type ClickHouseClient,
  migrate,
  migrationStatus,
} from '@waymark/clickhouse';
import { CommandError } from '../command-error.js';
import type { RawOption } from '../option-values.js';
import { type CommandResult, table } from '../output.js';
import { connectClickHouse, findTarget } from '../stores.js';

const WAIT_EVERY_MS = 1000;

/** `waymark migrate up`: applies all pending migrations, the placement on shards and the retention. */
export async function migrateUp(): Promise<CommandResult> {
  const target = findTarget();
  const clickhouse = connectClickHouse(target);
  try {
    const { clickhouseCluster: cluster, addressRetentionDays, eventRetentionDays } = target.settings;
    const report = await migrate(clickhouse, { cluster });
    const placed = await applyPlacement(clickhouse, { cluster });
    const retention = await applyRetention(clickhouse, {
      cluster,
      addressDays: addressRetentionDays,
      eventDays: eventRetentionDays,
    });
    await applyQueryLogView(clickhouse, { cluster });
    return {
      data: { ...report, retention },
      lines: [
        ...report.applied.map((name) => `applied ${name}`),
        `${report.applied.length} applied, ${report.alreadyApplied} already applied`,
        ...(placed.length === 0 ? [] : [`placed ${placed.length} tables on the shards`]),
        ...retention,
      ],
    };
  } finally {
    await clickhouse.close();
  }
}

/** `waymark migrate status`: lists all migrations with their state. */
export async function showMigrations(): Promise<CommandResult> {
  const target = findTarget();
  const clickhouse = connectClickHouse(target);
  try {
    const migrations = await migrationStatus(clickhouse, { cluster: target.settings.clickhouseCluster });
    const rows = migrations.map(({ name, state, appliedAt }) => [name, state, appliedAt ?? '']);
    return { data: { migrations }, lines: table([['MIGRATION', 'STATE', 'APPLIED'], ...rows]) };
  } finally {
    await clickhouse.close();
  }
}

/** `waymark migrate wait`: waits until another process has applied all migrations. Containers run it before their service. */
export async function awaitMigrations({ seconds }: { readonly seconds: RawOption }): Promise<CommandResult> {
  const limitSeconds = Number(seconds);
  if (!(limitSeconds > 0)) throw new CommandError('--seconds must be a number above 0');
  const target = findTarget();
  const clickhouse = connectClickHouse(target);
  const deadlineMs = performance.now() + limitSeconds * 1000;
  try {
    for (;;) {
      const waiting = await missingMigrations(clickhouse, target.settings.clickhouseCluster);
      if (waiting === 'none') return { data: { migrated: true }, lines: ['all migrations are applied'] };
      if (performance.now() > deadlineMs) throw new CommandError(`after ${limitSeconds} s still: ${waiting}`);
      await delay(WAIT_EVERY_MS);
    }
  } finally {
    await clickhouse.close();
  }
}

/** Describes what is missing, or `none`. A server that is unreachable may still be starting. */
async function missingMigrations(clickhouse: ClickHouseClient, cluster: string | undefined): Promise<string> {
  try {
    const migrations = await migrationStatus(clickhouse, { cluster });
    const pending = migrations.filter(({ state }) => state === 'pending').length;
    return pending === 0 ? 'none' : `${pending} migrations are not applied`;
  } catch (err) {
    return err instanceof Error ? err.message : String(err);
  }
}
