import { afterRestore } from '@waymark/catalog';
import { partialRestore, writeRestoredMark } from '@waymark/config';
import type { Redis } from 'ioredis';
import { hasData } from '../backup/data-files.js';
import { CommandError } from '../command-error.js';
import { type RawOption, timeOption } from '../option-values.js';
import type { CommandResult } from '../output.js';
import { runningServices } from '../running-services.js';
import { rejectStack } from '../stack-lock.js';
import { findTarget, withCatalog } from '../stores.js';

/** @throws CommandError while a service of the installation runs */
async function rejectServices(redis: Redis): Promise<void> {
  const running = await runningServices(redis);
  if (running.length === 0) return;
  const names = running.map(({ service, instance }) => `${service} (${instance})`).join(', ');
  throw new CommandError(
    `these services use the stores: ${names}. This command is for stores that were restored, before services start on them`,
  );
}

/** `waymark restored`: prepares stores that were restored by other means than `waymark restore`, before services start on them. */
export async function prepareRestored(options: { readonly backup: RawOption }): Promise<CommandResult> {
  const backupTime = timeOption('backup', options.backup);
  if (backupTime === undefined) throw new CommandError('--backup is required');
  const backupAt = backupTime.toISOString();
  const { settings, stack } = findTarget();
  const { dataDir, redisUrl, clickhouseUrl } = settings;
  if (redisUrl === undefined || clickhouseUrl === undefined) {
    rejectStack(dataDir, stack);
    if (!hasData(dataDir))
      throw new CommandError(
        `${dataDir} contains no data: is DATA_DIR, or are REDIS_URL and CLICKHOUSE_URL, set otherwise?`,
      );
    const partial = partialRestore(dataDir);
    if (partial !== undefined) throw new CommandError(partial);
    writeRestoredMark(dataDir, { backupAt });
    return { data: { dataDir, backupAt }, lines: [`the next npm run up prepares the restored stores of ${dataDir}`] };
  }
  return withCatalog(async (catalog, { queues }) => {
    await rejectServices(queues[0]);
    const disabled = await afterRestore({ catalog, queues, backupAt, areTokensLost: true, now: Date.now });
    return {
      data: { backupAt, disabledSchedules: disabled },
      lines: [
        `${disabled} export schedules disabled, caches deleted; writers look up what the backup may have twice`,
        'now start the services',
      ],
    };
  });
}
