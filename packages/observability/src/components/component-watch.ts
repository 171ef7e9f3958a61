import { answerWithin } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import type { RedisMemory } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import type { MetricsLogger } from '../metrics/metrics-logger.js';
import { repeat } from '../repeat.js';
import { type Heartbeat, startHeartbeat } from './heartbeat.js';
import {
  createInstanceRegistry,
  HEARTBEAT_TTL_MS,
  type Instance,
  type ProcessChange,
  type Registry,
} from './instance-registry.js';
import { type ComponentStatus, serviceStates } from './service-states.js';
import { checkClickHouse, checkRedis } from './store-answers.js';
import { createStoreWatch, type StoreState } from './store-watch.js';

export interface ComponentWatchOptions {
  /** A connection whose commands have a time limit. */
  readonly redis: Redis;
  /** Connections to the queue shards from 1 on; none by default. */
  readonly otherQueueShards?: readonly Redis[];
  readonly clickhouse: ClickHouseClient;
  /** Name of this process's service. */
  readonly service: string;
  readonly version: string;
  /** See `HeartbeatOptions`. */
  readonly keys?: Instance['keys'];
  readonly logger: MetricsLogger;
  readonly now?: () => number;
  readonly intervalMs?: number;
}

/** Watches the stores and services. Stores are polled, services send heartbeats to Redis; reads return the result of the last poll. */
export interface ComponentWatch {
  /** Host and process id of this process. */
  readonly instance: string;
  /** The state at the last poll. Polls are two seconds apart while this is called, and ten when it was not called for two minutes. */
  componentStatus(): readonly ComponentStatus[];
  /** The last hundred starts and ends of processes, latest first. Rejects while Redis is away. */
  processChanges(): Promise<readonly ProcessChange[]>;
  /** The memory of each queue shard that answers. */
  redisMemory(): readonly ShardMemory[];
  /** Call it when the process has done work, because its status shows when it did work last. */
  noteWork(): void;
  close(): Promise<void>;
}

/** The memory of a queue shard. */
export interface ShardMemory extends RedisMemory {
  readonly shard: number;
}

const INTERVAL_MS = 2000;
/** Factor of the interval while the status is not requested: as long as the interval at which the process writes its samples. */
const REST_FACTOR = 5;
const REGISTRY_TIMEOUT_MS = 1000;
/** How long after an outage of Redis a missing heartbeat does not count yet, because processes have to connect first. */
const SETTLING_MS = HEARTBEAT_TTL_MS + 2000;

function storeStatus(component: string, { state, since, detail, starts }: StoreState): ComponentStatus {
  return { component, state, since, detail, processes: 1, starts, kills: 0 };
}

/** Starts the watch, and the heartbeat of this process. */
export function startComponentWatch(options: ComponentWatchOptions): ComponentWatch {
  const { redis, clickhouse, service, version, keys, logger, now = Date.now, intervalMs } = options;
  const registry = createInstanceRegistry(redis);
  const heartbeat: Heartbeat = startHeartbeat({ registry, service, version, keys, logger, now, intervalMs });
  const redisWatches = [redis, ...(options.otherQueueShards ?? [])].map((server, shard) => {
    const name = shard === 0 ? 'redis' : `redis-${shard}`;
    let memory: RedisMemory | undefined;
    const watch = createStoreWatch({
      name,
      now,
      async check(_limitMs, withUptime) {
        const { answer, memory: used } = await checkRedis(server, withUptime);
        memory = used;
        return answer;
      },
    });
    const memoryNow = (): ShardMemory[] =>
      memory === undefined || watch.state().state === 'down' ? [] : [{ shard, ...memory }];
    return { name, ...watch, memoryNow };
  });
  const clickhouseWatch = createStoreWatch({
    name: 'clickhouse',
    now,
    check: (limitMs, withUptime) => checkClickHouse(clickhouse, limitMs, withUptime),
  });
  let services: readonly ComponentStatus[] = [];

  const isSettled = (): boolean => {
    const since = heartbeat.beatingSince();
    return since !== undefined && now() - since > SETTLING_MS;
  };

  async function markDeadInstances({ instances }: Registry): Promise<void> {
    const dead = instances.filter(({ isAlive, instance }) => !isAlive && now() - instance.beatAt > HEARTBEAT_TTL_MS);
    for (const entry of dead) await registry.markKilled(entry, now());
  }

  async function pollServices(): Promise<void> {
    try {
      const read = await answerWithin(registry.read(), REGISTRY_TIMEOUT_MS, 'redis');
      services = serviceStates(read, { now: now(), isSettled: isSettled(), self: heartbeat.instance });
      if (isSettled()) await answerWithin(markDeadInstances(read), REGISTRY_TIMEOUT_MS, 'redis');
    } catch (err) {
      logger.debug({ err }, 'status of services is unknown: Redis does not answer');
      services = services.map((status) => ({
        ...status,
        state: status.component === service ? status.state : 'unknown',
        detail: status.component === service ? status.detail : 'not known while redis is away',
      }));
    }
  }

  const polling = repeat(
    () => Promise.all([...redisWatches.map((watch) => watch.poll()), clickhouseWatch.poll(), pollServices()]),
    { intervalMs: intervalMs ?? INTERVAL_MS, restIntervalMs: REST_FACTOR * (intervalMs ?? INTERVAL_MS) },
  );

  return {
    instance: heartbeat.instance,
    componentStatus() {
      polling.use();
      return [
        ...redisWatches.map(({ name, state }) => storeStatus(name, state())),
        storeStatus('clickhouse', clickhouseWatch.state()),
        ...services,
      ];
    },
    processChanges: () => registry.processChanges(),
    redisMemory: () => redisWatches.flatMap(({ memoryNow }) => memoryNow()),
    noteWork: heartbeat.noteWork,
    async close() {
      await polling.close();
      await heartbeat.close();
    },
  };
}
