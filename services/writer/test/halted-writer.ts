import { createClickHouseClient } from '@waymark/clickhouse';
import { loadSettings } from '@waymark/config';
import { createEventWriter, type QueueLogger } from '@waymark/event-queue';

/** A writer that inserts, says so, and comes no further: where a kill falls between an insert and its webhook jobs. */

const logger: QueueLogger = { debug() {}, info() {}, warn() {}, error() {} };
const settings = loadSettings();

createEventWriter({
  redisUrl: settings.redisUrl ?? '',
  clickhouse: createClickHouseClient({ url: settings.clickhouseUrl ?? '', database: settings.clickhouseDatabase }),
  logger,
  webhookJobsOf: () => {
    process.send?.('inserted');
    return new Promise(() => undefined);
  },
});
