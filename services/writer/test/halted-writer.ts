import { createClickHouseClient } from '@waymark/clickhouse';
import { loadSettings } from '@waymark/config';
import { createEventWriter, type QueueLogger } from '@waymark/event-queue';

/** A writer that stops between an insert and its webhook jobs, and then sends a message to its parent, which kills it. */

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
