import { hostname } from 'node:os';
import type { MetricsLogger } from '../metrics/metrics-logger.js';
import type { Instance, InstanceRegistry } from './instance-registry.js';

export interface HeartbeatOptions {
  readonly registry: InstanceRegistry;
  /** http, ingest, query, management, writer or webhooks. */
  readonly service: string;
  readonly version: string;
  readonly logger: MetricsLogger;
  readonly now: () => number;
  readonly intervalMs?: number;
}

/** Tells the others that this process is there. */
export interface Heartbeat {
  readonly instance: string;
  /** The process has done what it is there for. */
  noteWork(): void;
  /** Since when Redis has taken every beat, epoch milliseconds; undefined while it does not. */
  beatingSince(): number | undefined;
  /** Says goodbye, so that nobody takes the end for a kill. Never rejects. */
  close(): Promise<void>;
}

const INTERVAL_MS = 2000;

/** Whether a process of this machine is gone. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** Beats from now on. Redis may be away: the first beat it takes is the start. */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { registry, service, version, logger, now } = options;
  const host = hostname();
  const { pid } = process;
  const startedAt = now();
  const instance = `${host}:${pid}`;
  let lastWorkAt: number | null = null;
  let isAnnounced = false;
  let beatingSince: number | undefined;
  let beating: Promise<void> | undefined;

  const self = (): Instance => ({ service, instance, host, pid, startedAt, version, lastWorkAt, beatAt: now() });

  /** Who went without goodbye is noted at once where that can be seen: on this host, or under this very name. */
  async function announce(): Promise<void> {
    const { instances } = await registry.read();
    const dead = instances.filter(
      ({ instance: other }) =>
        other.service === service && other.host === host && (other.pid === pid || isGone(other.pid)),
    );
    for (const entry of dead) await registry.bury(entry, now());
    await registry.started(self());
    isAnnounced = true;
  }

  async function beat(): Promise<void> {
    try {
      await (isAnnounced ? registry.beat(self()) : announce());
      beatingSince ??= now();
    } catch (err) {
      beatingSince = undefined;
      logger.debug({ err }, 'no heartbeat: Redis does not take it');
    }
  }

  const next = () => {
    beating ??= beat().finally(() => {
      beating = undefined;
    });
  };
  const timer = setInterval(next, options.intervalMs ?? INTERVAL_MS);
  timer.unref();
  next();

  return {
    instance,
    noteWork() {
      lastWorkAt = now();
    },
    beatingSince: () => beatingSince,
    async close() {
      clearInterval(timer);
      await beating;
      if (!isAnnounced) return;
      await registry.stopped(self(), now()).catch((err: unknown) => logger.debug({ err }, 'no goodbye'));
    },
  };
}
