import { applyQueryLogView, applyRetention, migrate, migrationStatus } from '@waymark/clickhouse';
import { type CommandResult, table } from '../output.js';
import { connectClickHouse, findTarget } from '../stores.js';

export async function migrateUp(): Promise<CommandResult> {
  const target = findTarget();
  const clickhouse = connectClickHouse(target);
  try {
    const { clickhouseCluster: cluster, addressRetentionDays, eventRetentionDays } = target.settings;
    const report = await migrate(clickhouse, { cluster });
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
        `${report.applied.length} applied, ${report.alreadyApplied} applied before`,
        ...retention,
      ],
    };
  } finally {
    await clickhouse.close();
  }
}

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
