import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Catalog, createCatalog } from '@waymark/catalog';
import {
  createTestDatabase,
  endProcess,
  freePort,
  startRedis,
  type TestDatabase,
  type TestRedis,
  temporaryDirectory,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { forkProcess } from '../queue/child-process.js';
import { untilDrained } from '../until-drained.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const API = join(ROOT, 'services/standalone/dist/http.js');
const WRITER = join(ROOT, 'services/writer/dist/main.js');
const INSTANCE_KEY = '07'.repeat(32);
const START_MS_MAX = 120_000;
const REFUSED_MS_MAX = 30_000;

/** A process of the installation, which keeps its ports and its spool when it is started again. */
interface Slot {
  readonly entry: string;
  readonly dataDir: string;
  readonly api: number;
  readonly links: number;
  readonly writer: number;
  child: ChildProcess | undefined;
}

/** Two processes of the API and a writer, on several queue shards and one ClickHouse. */
export class ShardedStack {
  readonly #slots: readonly [api: Slot, otherApi: Slot, writer: Slot];
  /** `REDIS_WAIT_REPLICAS` of the processes that are started from now on. */
  waitReplicas = 0;

  private constructor(
    /** By number; the first is also that of locks and caches. */
    readonly shards: TestRedis[],
    readonly database: TestDatabase,
    private readonly directory: string,
    slots: readonly [Slot, Slot, Slot],
  ) {
    this.#slots = slots;
  }

  static async start(shards: number): Promise<ShardedStack> {
    const [database, ...servers] = await Promise.all([
      createTestDatabase(),
      ...Array.from({ length: shards }, () => startRedis({ args: [] })),
    ]);
    const directory = temporaryDirectory('waymark-shards-');
    const slotOf = async (entry: string, name: string): Promise<Slot> => {
      const [api, links, writer] = [await freePort(), await freePort(), await freePort()];
      const dataDir = join(directory, name);
      mkdirSync(dataDir);
      return { entry, dataDir, api, links, writer, child: undefined };
    };
    const slots = [await slotOf(API, 'api-0'), await slotOf(API, 'api-1'), await slotOf(WRITER, 'writer')] as const;
    const stack = new ShardedStack(servers, database, directory, slots);
    await Promise.all([stack.startApi(0), stack.startApi(1), stack.startWriter()]);
    return stack;
  }

  async addShard(): Promise<void> {
    this.shards.push(await startRedis({ args: [] }));
  }

  /** Where an API and its short links are reached. */
  addressesOf(index: number): { readonly api: string; readonly links: string } {
    const { api, links } = this.#slots[index === 0 ? 0 : 1];
    return { api: `http://127.0.0.1:${api}`, links: `http://127.0.0.1:${links}` };
  }

  #fork(slot: Slot, shards: readonly TestRedis[], logLevel: string): ChildProcess {
    const [first, ...others] = shards.map(({ url }) => url);
    return forkProcess(slot.entry, [], {
      ...{ REDIS_URL: first ?? '', QUEUE_SHARDS: others.join(','), CLICKHOUSE_URL: this.database.url },
      ...{ CLICKHOUSE_DATABASE: this.database.database, DATA_DIR: slot.dataDir, INSTANCE_KEY, LOG_LEVEL: logLevel },
      ...{ API_PORT: String(slot.api), LINK_PORT: String(slot.links), WRITER_PORT: String(slot.writer) },
      ...{ REDIS_WAIT_REPLICAS: String(this.waitReplicas), OUTBOUND_ALLOWED_RANGES: '127.0.0.0/8' },
    });
  }

  /** The exit code of a writer that is given other shards. */
  async exitCodeWith(shards: readonly TestRedis[]): Promise<number | null> {
    const child = this.#fork({ ...this.#slots[2], writer: 0 }, shards, 'silent');
    const late = setTimeout(() => child.kill('SIGKILL'), REFUSED_MS_MAX);
    const [code] = (await once(child, 'exit')) as [number | null];
    clearTimeout(late);
    return code;
  }

  async #start(slot: Slot, readyPort: number): Promise<void> {
    slot.child = this.#fork(slot, this.shards, 'fatal');
    const isReady = async () => (await fetch(`http://127.0.0.1:${readyPort}/readyz`)).ok;
    await waitFor(isReady, { what: 'a process to be ready', timeoutMs: START_MS_MAX });
  }

  /** Kills the process, if it runs, and starts it with the shards as they are now. */
  async #restart(slot: Slot, readyPort: number): Promise<void> {
    if (slot.child !== undefined) await endProcess(slot.child, 'SIGKILL');
    await this.#start(slot, readyPort);
  }

  startApi(index: 0 | 1): Promise<void> {
    return this.#restart(this.#slots[index], this.#slots[index].api);
  }

  startWriter(): Promise<void> {
    return this.#restart(this.#slots[2], this.#slots[2].writer);
  }

  async killWriter(): Promise<void> {
    const { child } = this.#slots[2];
    if (child !== undefined) await endProcess(child, 'SIGKILL');
  }

  /** The checks of each process that runs. */
  async readiness(): Promise<readonly number[]> {
    const [api, otherApi, writer] = this.#slots;
    const ports = [api.api, otherApi.api, writer.writer];
    return Promise.all(
      ports.map((port) =>
        fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ status }) => status,
          () => 0,
        ),
      ),
    );
  }

  /** Runs `work` with a catalog in this process, as a command of the operator does. */
  async withCatalog<T>(work: (catalog: Catalog) => Promise<T>): Promise<T> {
    const clients = this.shards.map(({ url }) => new Redis(url));
    for (const client of clients) client.on('error', () => undefined);
    const [redis, ...otherQueueShards] = clients;
    if (redis === undefined) throw new Error('there is no shard');
    const catalog = createCatalog({
      ...{ redis, otherQueueShards, clickhouse: this.database.client, instanceKey: Buffer.from(INSTANCE_KEY, 'hex') },
      ...{ now: Date.now, logger: { warn: () => undefined }, baseUrl: 'https://api.example.com' },
    });
    try {
      return await work(catalog);
    } finally {
      await catalog.close();
      for (const client of clients) client.disconnect();
    }
  }

  /** The names of the claims of conversions that a shard holds; each contains the id of its workspace. */
  async conversionClaims(shard: number): Promise<string[]> {
    const redis = new Redis(this.shards[shard]?.url ?? '');
    try {
      return (await redis.keys('{waymark}:claim:*')).filter((key) => !key.startsWith('{waymark}:claim:c:'));
    } finally {
      redis.disconnect();
    }
  }

  /** Waits until no event is spooled or queued. */
  async drained(timeoutMs: number): Promise<void> {
    const spools = this.#slots.map(({ dataDir }) => join(dataDir, 'spool'));
    const spooled = () =>
      spools.flatMap((spool) => {
        try {
          return readdirSync(spool, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.spool'));
        } catch {
          return [];
        }
      });
    await waitFor(() => spooled().length === 0, { what: 'the spools to be replayed', timeoutMs });
    for (const { url } of this.shards) await untilDrained(url, timeoutMs);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#slots.map(({ child }) => child && endProcess(child, 'SIGKILL')));
    await Promise.all([...this.shards.map((shard) => shard.stop()), this.database.drop()]);
    rmSync(this.directory, { recursive: true, force: true });
  }
}
