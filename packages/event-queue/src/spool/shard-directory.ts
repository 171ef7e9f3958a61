import { join } from 'node:path';

/**
 * The directory of a queue shard's spool; that of shard 0 is `directory` itself. Each shard has its own, so that clicks for a shard that is
 * away do not delay the replay of other spools.
 */
export function spoolDirectoryOf(directory: string, shard: number): string {
  return shard === 0 ? directory : join(directory, `shard-${shard}`);
}
