import { setPriority } from 'node:os';
import { openStores } from '@waymark/bootstrap';
import { keyMarks, loadSettings, readInstanceKeys } from '@waymark/config';
import { createLogger, runService } from '@waymark/http-kit';
import { startOperations } from '@waymark/observability';
import { createOutbound } from '@waymark/outbound';
import { createWebhookWorker } from '@waymark/webhooks';
import { CLOSE_SHARE } from './close-share.js';

/** Entry file of the process that delivers to webhooks. The writer starts the process (delivery-process.ts), which ends with the writer. */

/** A low priority (nice value): redirects, inserts and the stores come first. */
const PRIORITY = 10;

const settings = loadSettings();
const logger = createLogger({ name: 'webhooks', level: settings.logLevel });

async function start() {
  setPriority(PRIORITY);
  const instanceKeys = readInstanceKeys(settings);
  const stores = openStores(settings, instanceKeys, logger);
  const { redis, queues, clickhouse, catalog } = stores;
  const operations = startOperations({ service: 'webhooks', keys: keyMarks(instanceKeys), redis, clickhouse, logger });
  const outbound = createOutbound({ allowedRanges: settings.outboundAllowedRanges });
  const closeMs = settings.shutdownDeadlineMs * CLOSE_SHARE;
  const { clickhouseCluster: cluster, redisWaitReplicas: waitReplicas } = settings;
  const workers = queues.map(({ url: redisUrl }) =>
    createWebhookWorker({ redisUrl, waitReplicas, clickhouse, cluster, catalog, outbound, logger, closeMs }),
  );
  return {
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
      outbound.close();
      await operations.close();
      await stores.close();
    },
  };
}

await runService(start, { logger, deadlineMs: settings.shutdownDeadlineMs });
