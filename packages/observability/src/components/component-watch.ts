import type { ClickHouseClient } from '@waymark/clickhouse';
import type { Redis } from 'ioredis';
import type { MetricsLogger } from '../metrics/metrics-logger.js';
import { within } from '../within.js';
import { type Heartbeat, startHeartbeat } from './heartbeat.js';
import { createInstanceRegistry, HEARTBEAT_TTL_MS, type Registry, type Turn } from './instance-registry.js';
import { type ComponentStatus, serviceStates } from './service-states.js';
import { askClickHouse, askRedis, type RedisMemory } from './store-answers.js';
import { createStoreWatch, type StoreState } from './store-watch.js';

export interface ComponentWatchOptions {
  /** Its commands must not wait for ever. */
  readonly redis: Redis;
  readonly clickhouse: ClickHouseClient;
  /** Which of them this process is. */
  readonly service: string;
  readonly version: string;
  readonly logger: MetricsLogger;
  readonly now?: () => number;
  readonly intervalMs?: number;
}

/** Knows what runs: the stores by asking them, the services by their heartbeats. It says so at once, whatever is away. */
export interface ComponentWatch {
  /** Host and process id of this process. */
  readonly instance: string;
  /** As of the last look, two seconds ago at most. */
  componentStatus(): readonly ComponentStatus[];
  /** The latest starts and ends of all processes, latest first. Rejects while Redis is away. */
  turns(): Promise<readonly Turn[]>;
  /** Undefined while Redis is away. */
  redisMemory(): RedisMemory | undefined;
  /** This process has done what it is there for. */
  noteWork(): void;
  close(): Promise<void>;
}

const INTERVAL_MS = 2000;
const REGISTRY_ANSWER_MS = 1000;
/** Hearts that could not beat while Redis was away are given that long to beat again. */
const SETTLING_MS = HEARTBEAT_TTL_MS + 2000;

function storeStatus(component: string, { state, since, detail, starts }: StoreState): ComponentStatus {
  return { component, state, since, detail, starts, kills: 0 };
}

export function startComponentWatch(options: ComponentWatchOptions): ComponentWatch {
  const { redis, clickhouse, service, version, logger, now = Date.now, intervalMs = INTERVAL_MS } = options;
  const registry = createInstanceRegistry(redis);
  const heartbeat: Heartbeat = startHeartbeat({ registry, service, version, logger, now, intervalMs });
  let memory: RedisMemory | undefined;
  const redisWatch = createStoreWatch({
    name: 'redis',
    now,
    async ask() {
      const told = await askRedis(redis);
      memory = told.memory;
      return told.answer;
    },
  });
  const clickhouseWatch = createStoreWatch({
    name: 'clickhouse',
    now,
    ask: (limitMs) => askClickHouse(clickhouse, limitMs),
  });
  let services: readonly ComponentStatus[] = [];
  let looking: Promise<void> | undefined;

  const isSettled = (): boolean => {
    const since = heartbeat.beatingSince();
    return since !== undefined && now() - since > SETTLING_MS;
  };

  async function buryDead({ instances }: Registry): Promise<void> {
    const dead = instances.filter(({ isAlive, instance }) => !isAlive && now() - instance.beatAt > HEARTBEAT_TTL_MS);
    for (const entry of dead) await registry.bury(entry, now());
  }

  async function lookAtServices(): Promise<void> {
    try {
      const read = await within(registry.read(), REGISTRY_ANSWER_MS, 'redis');
      services = serviceStates(read, { now: now(), isSettled: isSettled(), self: heartbeat.instance });
      if (isSettled()) await within(buryDead(read), REGISTRY_ANSWER_MS, 'redis');
    } catch (err) {
      logger.debug({ err }, 'what runs is not known: Redis does not answer');
      services = services.map((status) => ({
        ...status,
        state: status.component === service ? status.state : 'unknown',
        detail: status.component === service ? status.detail : 'not known while redis is away',
      }));
    }
  }

  const look = () => {
    looking ??= Promise.all([redisWatch.look(), clickhouseWatch.look(), lookAtServices()]).then(() => {
      looking = undefined;
    });
  };
  const timer = setInterval(look, intervalMs);
  timer.unref();
  look();

  return {
    instance: heartbeat.instance,
    componentStatus: () => [
      storeStatus('redis', redisWatch.state()),
      storeStatus('clickhouse', clickhouseWatch.state()),
      ...services,
    ],
    turns: () => registry.turns(),
    redisMemory: () => (redisWatch.state().state === 'down' ? undefined : memory),
    noteWork: heartbeat.noteWork,
    async close() {
      clearInterval(timer);
      await looking;
      await heartbeat.close();
    },
  };
}
