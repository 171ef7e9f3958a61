import { join } from 'node:path';
import type { Settings } from '@waymark/config';
import { type DiskNeed, diskShortage, fullDisk } from '@waymark/observability';

const MEGABYTE = 1024 ** 2;
/** The append-only file grows to twice its size before it is rewritten, and the old one stays until the new one is complete. */
const LOG_BYTES_PER_MEMORY_BYTE = 3;
/** Below this, ClickHouse has no room for the merges of a small installation. */
const CLICKHOUSE_MB = 1024;

type NeedSettings = Pick<Settings, 'dataDir' | 'redisUrl' | 'clickhouseUrl' | 'redisMaxmemoryMb' | 'spoolBytesMax'>;

/** How much the stores of one machine may write to `DATA_DIR`, besides the stored events. */
function diskNeeds(settings: NeedSettings): readonly DiskNeed[] {
  const { dataDir, redisUrl, clickhouseUrl, redisMaxmemoryMb, spoolBytesMax } = settings;
  const redis: DiskNeed = {
    setting: 'REDIS_MAXMEMORY_MB',
    directory: join(dataDir, 'redis'),
    bytes: LOG_BYTES_PER_MEMORY_BYTE * redisMaxmemoryMb * MEGABYTE,
    risk: 'Redis stops, and leads and sales are refused',
  };
  const clickhouse: DiskNeed = {
    setting: 'DATA_DIR',
    directory: join(dataDir, 'clickhouse'),
    bytes: CLICKHOUSE_MB * MEGABYTE,
    risk: 'events wait in Redis and cannot be listed',
  };
  const spool: DiskNeed = {
    setting: 'SPOOL_MAX_MB',
    directory: join(dataDir, 'spool'),
    bytes: spoolBytesMax,
    risk: 'clicks are lost while Redis is away',
  };
  return [...(redisUrl === undefined ? [redis] : []), ...(clickhouseUrl === undefined ? [clickhouse] : []), spool];
}

/** Reports a line for each need that is more than the free space. Each is compared by itself, also on one disk. */
export async function reportShortages(settings: NeedSettings, report: (line: string) => void): Promise<void> {
  for (const need of diskNeeds(settings)) {
    const line = await diskShortage(need);
    if (line !== undefined) report(line);
  }
}

/** A `report` for lines about processes that end or do not start: each is followed by the reason if that may be a full disk. */
export function reportingFullDisk(dataDir: string, report: (line: string) => void): (line: string) => void {
  return (line) => {
    report(line);
    void fullDisk(dataDir).then((reason) => {
      if (reason !== undefined) report(reason);
    });
  };
}
