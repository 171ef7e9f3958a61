import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { createEventProducer, queueDepths } from '@waymark/event-queue';
import { connectRedis } from '@waymark/redis';
import {
  bundleProcess,
  endProcess,
  startMigratedClickHouse,
  startRedis,
  type TestClickHouse,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { FAULTS } from '../fault-length.js';
import { untilDrained } from '../until-drained.js';
import { forkProcess } from './child-process.js';
import type { ProducerReport, ProducerTask } from './messages.js';
import { SentEvents } from './sent-events.js';

const DATABASE = 'waymark';
const WRITER = resolve(import.meta.dirname, '../../../services/writer/dist/main.js');
const PRODUCER = await bundleProcess(new URL('./producer-main.ts', import.meta.url));

/** How to start a {@link WritePath}: by default two writers and a Redis of its own. */
export interface WritePathOptions {
  readonly redisArgs?: readonly string[];
  readonly writers?: number;
  /** A Redis that the caller has started and stops, instead of one server. */
  readonly redisUrl?: string;
  /** How many replicas of it must confirm each write. */
  readonly waitReplicas?: number;
}

/** Redis, ClickHouse and writer processes, which are restarted after a kill. */
export class WritePath {
  readonly #writers: ChildProcess[] = [];
  #workspace = 1000;
  /** How many jobs the writers held each time that one of them was killed. */
  readonly activeAtKills: number[] = [];

  private constructor(
    /** Undefined if the caller has started it. */
    private readonly ownRedis: TestRedis | undefined,
    readonly redisUrl: string,
    readonly waitReplicas: number,
    readonly clickhouse: TestClickHouse,
    readonly client: ClickHouseClient,
    readonly spoolDirectory: string,
  ) {}

  static async start(options: WritePathOptions = {}): Promise<WritePath> {
    const { redisArgs = [], writers = 2, redisUrl, waitReplicas = 0 } = options;
    const [redis, clickhouse, spool] = await Promise.all([
      redisUrl === undefined ? startRedis({ args: redisArgs }) : undefined,
      startMigratedClickHouse(),
      mkdtemp(join(tmpdir(), 'waymark-faults-spool-')),
    ]);
    const client = createClickHouseClient({ url: clickhouse.url, database: DATABASE, requestTimeoutMs: 10_000 });
    const path = new WritePath(redis, redisUrl ?? redis?.url ?? '', waitReplicas, clickhouse, client, spool);
    for (let count = 0; count < writers; count++) path.#writers.push(path.#forkWriter());
    await Promise.all(path.#writers.map((writer) => once(writer, 'message')));
    return path;
  }

  /** The one server; not if the caller has started another Redis. */
  get redis(): TestRedis {
    if (this.ownRedis === undefined) throw new Error('this Redis is not one server');
    return this.ownRedis;
  }

  /** Each scenario uses a workspace of its own. */
  nextWorkspace(): string {
    this.#workspace += 1;
    return String(this.#workspace);
  }

  #forkWriter(): ChildProcess {
    return forkProcess(WRITER, [], {
      REDIS_URL: this.redisUrl,
      REDIS_WAIT_REPLICAS: String(this.waitReplicas),
      CLICKHOUSE_URL: this.clickhouse.url,
      CLICKHOUSE_DATABASE: DATABASE,
      INSTANCE_KEY: '07'.repeat(32),
      WRITER_PORT: '0',
      LOG_LEVEL: 'fatal',
    });
  }

  async killWriter(number: number): Promise<void> {
    const index = number % this.#writers.length;
    const writer = this.#writers[index];
    if (writer !== undefined) {
      // Stopped first, so that what it holds now is what it holds when it is killed.
      writer.kill('SIGSTOP');
      this.activeAtKills.push(await this.#activeJobs());
      await endProcess(writer, 'SIGKILL');
    }
    this.#writers[index] = this.#forkWriter();
  }

  async #activeJobs(): Promise<number> {
    const redis = connectRedis(this.redisUrl, { maxRetriesPerRequest: 0 });
    redis.on('error', () => undefined);
    try {
      const depths = Object.values(await queueDepths(redis));
      return depths.reduce((sum, { active }) => sum + active, 0);
    } catch {
      // Redis is away at the same time.
      return 0;
    } finally {
      redis.disconnect();
    }
  }

  async killRedis(awayMs = 0): Promise<void> {
    await this.redis.kill9();
    await new Promise((resolve) => setTimeout(resolve, awayMs));
    await this.redis.restart();
  }

  async killClickHouse(awayMs = 0): Promise<void> {
    await this.clickhouse.kill9();
    await new Promise((resolve) => setTimeout(resolve, awayMs));
    await this.clickhouse.restart();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#writers.map((writer) => endProcess(writer, 'SIGKILL')));
    await this.client.close();
    await Promise.all([this.ownRedis?.stop(), this.clickhouse.stop()]);
    await rm(this.spoolDirectory, { recursive: true, force: true });
  }
}

/** A producer process. */
function forkProducer(task: ProducerTask): ChildProcess {
  return forkProcess(PRODUCER, [JSON.stringify(task)]);
}

/** How to start {@link Traffic}: by default two producers with the loops of the run's length. */
export type TrafficOptions = Partial<Pick<ProducerTask, 'clicks' | 'sales' | 'pauseMs' | 'padding' | 'redisUrl'>> & {
  readonly producers?: number;
};

interface ProducerSlot {
  readonly prefix: string;
  child: ChildProcess;
}

/** Producer processes that record events of one workspace. */
export class Traffic {
  readonly sentEvents = new SentEvents();
  readonly workspaceId: string;
  readonly #slots: ProducerSlot[] = [];

  constructor(
    private readonly path: WritePath,
    private readonly options: TrafficOptions = {},
  ) {
    this.workspaceId = path.nextWorkspace();
    for (let slot = 0; slot < (options.producers ?? 2); slot++) {
      const prefix = `p${slot}`;
      this.#slots.push({ prefix, child: this.#fork(prefix) });
    }
  }

  #fork(prefix: string): ChildProcess {
    const { clicks, sales, pauseMs, padding, redisUrl } = {
      ...FAULTS.loops,
      pauseMs: FAULTS.pauseMs,
      redisUrl: this.path.redisUrl,
      ...this.options,
    };
    const task: ProducerTask = {
      redisUrl,
      waitReplicas: this.path.waitReplicas,
      spoolDirectory: this.path.spoolDirectory,
      workspaceId: this.workspaceId,
      prefix,
      firstInvoice: this.#firstUnknownInvoice(prefix),
      clicks,
      sales,
      pauseMs,
      ...(padding === undefined ? {} : { padding }),
    };
    const child = forkProducer(task);
    child.on('message', (message) => {
      if (typeof message === 'object') this.sentEvents.add(prefix, message as ProducerReport);
    });
    return child;
  }

  /** Callers retry requests without an answer: the successor of a killed process starts with those. */
  #firstUnknownInvoice(prefix: string): number {
    let invoice = 0;
    while (this.sentEvents.sales.has(`${prefix}-${invoice}`)) invoice += 1;
    return invoice;
  }

  /** Resolves when so many more events were acknowledged, so that faults happen during traffic. */
  async progress(events: number): Promise<void> {
    const goal = this.sentEvents.acknowledged + events;
    await waitFor(() => this.sentEvents.acknowledged >= goal, { what: `${events} more events`, timeoutMs: 120_000 });
  }

  async killProducer(number: number): Promise<void> {
    const slot = this.#slots[number % this.#slots.length];
    if (slot === undefined) return;
    await endProcess(slot.child, 'SIGKILL');
    slot.child = this.#fork(slot.prefix);
  }

  /**
   * Waits until every producer has finished and the writers have written its events. Spooled clicks are left for the next
   * process to replay.
   */
  async stop(): Promise<void> {
    await Promise.all(
      this.#slots.map(async ({ child }) => {
        const gone = once(child, 'exit');
        child.send({ stop: true });
        await gone;
      }),
    );
    const successor = createEventProducer({
      redisUrl: this.path.redisUrl,
      waitReplicas: this.path.waitReplicas,
      spoolDirectory: this.path.spoolDirectory,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    });
    await waitFor(async () => !(await readdir(this.path.spoolDirectory)).some((name) => name.endsWith('.spool')), {
      what: 'the spool to be replayed',
      timeoutMs: FAULTS.settleMs,
    });
    await successor.close();
    await untilDrained(this.path.redisUrl, FAULTS.settleMs);
  }
}
