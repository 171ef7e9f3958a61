import { type ServiceBase, startServiceBase } from '@waymark/bootstrap';
import type { LinkRecord } from '@waymark/catalog';
import { type ClickHouseClient, countShards } from '@waymark/clickhouse';
import { type Settings, SettingsError } from '@waymark/config';
import { createEventWriter, type EventWriter, hasHadWebhookJobs } from '@waymark/event-queue';
import { type App, createApp, type Logger, type Service } from '@waymark/http-kit';
import { createEventJobLimit, createWebhookJobPlanner, createWebhookNotifier } from '@waymark/webhooks';
import { startAbTests } from './ab-tests.js';
import { CLOSE_SHARE } from './close-share.js';
import { startDeliveryProcess } from './delivery-process.js';
import { startErasures } from './erasures.js';
import { lateRowsOf } from './late-rows-access.js';
import { startNightlyRetention } from './nightly-retention.js';

/** Share of the deadline after which the process of the deliveries is killed: more than the share for its work, less than all. */
const DELIVERIES_SHARE = 0.8;

function checkStores({ redisUrl, clickhouseUrl }: Settings): void {
  if (redisUrl === undefined || clickhouseUrl === undefined) {
    throw new SettingsError(['REDIS_URL and CLICKHOUSE_URL: are required by a service that runs on its own']);
  }
}

/** Name of a readiness check of a queue shard. */
const checkName = (name: string, shard: number) => (shard === 0 ? name : `${name}-${shard}`);

/**
 * The app with `/healthz`, `/readyz` and `/metrics`, the only routes of a writer. A writer is not ready while any queue shard is away, but
 * still writes the queues of the others; no requests depend on its readiness.
 */
function buildHealthApp(base: ServiceBase, writers: readonly Pick<EventWriter, 'check' | 'checkProgress'>[]): App {
  const { logger, docBase, trustedProxies } = base.appOptions;
  return createApp({
    logger,
    docBase,
    trustedProxies,
    title: 'Waymark writer',
    readiness: {
      ...Object.fromEntries(
        writers.flatMap(({ check, checkProgress }, shard) => [
          [checkName('queue', shard), check],
          [checkName('progress', shard), checkProgress],
        ]),
      ),
      clickhouse: base.checkClickHouse,
    },
  });
}

/** Whether any shard that answers has ever had a webhook job. */
async function anyHasHadWebhookJobs(queueShards: readonly Parameters<typeof hasHadWebhookJobs>[0][]): Promise<boolean> {
  const answers = await Promise.allSettled(queueShards.map(hasHadWebhookJobs));
  return answers.some((answer) => answer.status === 'fulfilled' && answer.value);
}

/** The number of ClickHouse shards, with which batches grow; 1 while ClickHouse is away. */
async function shardsOf(clickhouse: ClickHouseClient, cluster: string, logger: Logger): Promise<number> {
  try {
    return await countShards(clickhouse, { cluster });
  } catch (err) {
    logger.warn({ err }, 'the shards of the cluster could not be counted: batches are small until the next start');
    return 1;
  }
}

/**
 * Starts the writer. It writes the queue to ClickHouse, queues and delivers webhooks, completes A/B tests of links, carries out erasures,
 * deletes every night the events and addresses whose retention has ended, and answers health probes. Closing stops all of them at the same
 * time, and then closes Redis and ClickHouse.
 */
export async function startWriter(settings: Settings, logger: Logger): Promise<Service> {
  checkStores(settings);
  const base = await startServiceBase({ service: 'writer', settings, logger, isWriter: true });
  const { redis, queues, clickhouse, catalog, operations } = base;
  const closeMs = settings.shutdownDeadlineMs * CLOSE_SHARE;
  // A writer before this one may have been killed between an insert and its evictions. If this fails, the catalog evicts them as soon as
  // Redis answers, so the error is ignored.
  void catalog.evictAllTotals().catch(() => undefined);
  const onStored = operations.countBatch;
  const waitReplicas = settings.redisWaitReplicas;
  const { clickhouseCluster: cluster, clickhouseEventsQuorum } = settings;
  const isReplicated = cluster !== undefined;
  const shards = cluster === undefined ? 1 : await shardsOf(clickhouse, cluster, logger);
  const lateRows = lateRowsOf(catalog);
  const callbacks = {
    onInserting: catalog.markTotals,
    onInserted: catalog.evictTotals,
    onStored,
    lateRows,
  };
  const waitsForQuorum = isReplicated && clickhouseEventsQuorum;
  const stores = { waitReplicas, clickhouse, isReplicated, cluster, shards, waitsForQuorum };
  // Each queue shard has a writer of its own, with its coalescer, manifest and retries, so that one that is away does not delay the others.
  const queueShards = queues.map((queue) => queue.redis);
  const writers = queues.map(({ url: redisUrl, redis: own }) => {
    const otherShards = queueShards.filter((shard) => shard !== own);
    const onDropped = operations.countDroppedDeliveries;
    const limit = createEventJobLimit({ redis: own, onDropped, logger });
    const webhookJobsOf = createWebhookJobPlanner({ catalog, limit });
    return createEventWriter({ ...stores, redisUrl, otherShards, logger, closeMs, webhookJobsOf, ...callbacks });
  });
  const deliveries = startDeliveryProcess({
    isNeeded: () => anyHasHadWebhookJobs(queueShards),
    closeMs: settings.shutdownDeadlineMs * DELIVERIES_SHARE,
    logger,
  });
  const notifier = createWebhookNotifier({ catalog, queueShards, waitReplicas, logger, now: Date.now });
  const onChanged = (link: LinkRecord) => notifier.linkChanged('link.updated', link);
  const abTests = startAbTests({ catalog, redis, logger, onChanged });
  const retention = startNightlyRetention({ catalog, clickhouse, redis, cluster, logger });
  const erasures = startErasures({
    catalog,
    redis,
    queueShards,
    waitReplicas,
    clickhouse,
    cluster,
    lateRows,
    logger,
    gatherMs: settings.erasureGatherMs,
    onOldest: operations.noteOldestErasure,
  });
  const close = async () => {
    const jobs = [deliveries, abTests, retention, erasures];
    await Promise.all([...writers, ...jobs].map((one) => one.close()));
    notifier.close();
    await base.close();
  };
  const app = buildHealthApp(base, writers);
  base.addMetrics(app);
  try {
    await app.listen({ host: settings.host, port: settings.writerPort });
  } catch (err) {
    await close();
    throw err;
  }
  return {
    async close() {
      await Promise.all([app.close(), close()]);
    },
  };
}
