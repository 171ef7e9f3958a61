import { hostname } from 'node:os';
import type { MetricsLogger } from '../metrics/metrics-logger.js';
import { repeat } from '../repeat.js';
import type { Instance, InstanceRegistry } from './instance-registry.js';

export interface HeartbeatOptions {
  readonly registry: InstanceRegistry;
  /** http, ingest, query, management, writer or webhooks. */
  readonly service: string;
  readonly version: string;
  /** Marks of the instance keys of this process. */
  readonly keys?: Instance['keys'];
  readonly logger: MetricsLogger;
  readonly now: () => number;
  readonly intervalMs?: number;
}

/** Registers this process in Redis and sends heartbeats. */
export interface Heartbeat {
  readonly instance: string;
  /** Call it when the process has done work; the next heartbeat has the time. */
  noteWork(): void;
  /** The time since which every heartbeat has reached Redis, in epoch milliseconds; undefined while they fail. */
  beatingSince(): number | undefined;
  /** Deregisters the process, so that its end does not count as a kill. Never rejects. */
  close(): Promise<void>;
}

/** Short enough that two heartbeats can be lost before the process counts as gone (`HEARTBEAT_TTL_MS`). */
const INTERVAL_MS = 3000;

/** Whether a process of this host has ended. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** Sends heartbeats until `close`. While Redis is away they fail; the first that succeeds registers the process. */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { registry, service, version, keys, logger, now } = options;
  const host = hostname();
  const { pid } = process;
  const startedAt = now();
  const instance = `${host}:${pid}`;
  let lastWorkAt: number | null = null;
  let isRegistered = false;
  let beatingSince: number | undefined;

  const self = (): Instance => ({
    service,
    instance,
    host,
    pid,
    startedAt,
    version,
    keys,
    lastWorkAt,
    beatAt: now(),
  });

  /** Registers this process, and marks instances of the service that this host no longer runs as killed. */
  async function register(): Promise<void> {
    const { instances } = await registry.read();
    const isOwn = instances.some(
      ({ instance: { service: other, instance: name, startedAt: since } }) =>
        other === service && name === instance && since === startedAt,
    );
    if (isOwn) {
      // This process is registered already: an earlier answer of Redis was lost.
      await registry.beat(self());
      isRegistered = true;
      return;
    }
    // An entry with the id of this process is of an earlier one: in a container, a restarted process often has the same id.
    const dead = instances.filter(
      ({ instance: other }) =>
        other.service === service && other.host === host && (other.pid === pid || isGone(other.pid)),
    );
    for (const entry of dead) await registry.markKilled(entry, now());
    await registry.started(self());
    isRegistered = true;
  }

  async function beat(): Promise<void> {
    try {
      await (isRegistered ? registry.beat(self()) : register());
      beatingSince ??= now();
    } catch (err) {
      beatingSince = undefined;
      logger.debug({ err }, 'heartbeat failed: Redis does not accept it');
    }
  }

  const beating = repeat(beat, { intervalMs: options.intervalMs ?? INTERVAL_MS });

  return {
    instance,
    noteWork() {
      lastWorkAt = now();
    },
    beatingSince: () => beatingSince,
    async close() {
      await beating.close();
      if (!isRegistered) return;
      await registry.stopped(self(), now()).catch((err: unknown) => logger.debug({ err }, 'could not deregister'));
    },
  };
}
