import { randomUUID } from 'node:crypto';
import { startRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { createCacheMemory } from '../../src/redis/cache-memory.js';
import { openConnections, type RedisConnections } from '../../src/redis/connections.js';
import { createSharedTotals, type SharedTotals } from '../../src/redis/shared-totals.js';

/** A Redis, and the shared totals on it as any number of processes have them. */
export async function startTotals() {
  const server = await startRedis();
  const client = new Redis(server.url);
  client.on('error', () => undefined);
  const opened: RedisConnections[] = [];
  const processes: SharedTotals[] = [];

  /** The shared totals as another process has them. @param run runs its commands, such as evictions; by default at once */
  async function aProcess(run?: (command: () => Promise<unknown>) => Promise<unknown>): Promise<SharedTotals> {
    const own = openConnections(client, 0, { warn: () => undefined });
    opened.push(own);
    await waitFor(async () => (await own.tryRun((redis) => redis.ping())) === 'PONG', { what: 'Redis' });
    const runOwn: RedisConnections['run'] = (command) =>
      run === undefined ? own.run(command) : (run(() => own.run(command)) as ReturnType<typeof command>);
    const connections = { ...own, run: runOwn };
    const memory = createCacheMemory(connections);
    const process = createSharedTotals(connections, memory, { warn: () => undefined }, () => undefined);
    processes.push(process);
    return process;
  }

  return {
    client,
    /** The connections of the processes, in their order. */
    opened,
    aProcess,

    /** A process that has begun a generation, in place of evictions that earlier processes may have lost. */
    async aWriter(): Promise<SharedTotals> {
      const writer = await aProcess();
      await writer.evictAll();
      return writer;
    },

    async stop(): Promise<void> {
      for (const process of processes) process.close();
      for (const connections of opened) connections.close();
      client.disconnect();
      await server.stop();
    },
  };
}

/** A workspace whose totals are counted here, in the place of ClickHouse. */
export function aWorkspace() {
  const workspaceId = `ws_${randomUUID()}`;
  const totals = new Map<string, number>();
  const reads: (readonly string[])[] = [];
  const readTexts = async (ids: readonly string[]) => {
    reads.push(ids);
    return new Map(ids.flatMap((id) => (totals.has(id) ? [[id, String(totals.get(id))] as const] : [])));
  };
  return {
    workspaceId,
    reads,
    count: (id: string) => void totals.set(id, (totals.get(id) ?? 0) + 1),
    current: (ids: readonly string[]) =>
      new Map(ids.flatMap((id) => (totals.has(id) ? [[id, String(totals.get(id))]] : []))),
    read: (process: SharedTotals, ids: readonly string[]) => process.read(workspaceId, ids, readTexts),
    evicted: (ids: readonly string[]) => [{ workspaceId, ids: [...ids] }],
    /** Resolves once Redis has the totals. */
    stored: (process: SharedTotals, ids: readonly string[]) =>
      waitFor(
        async () => {
          let isComplete = true;
          await process.read(workspaceId, ids, async (missing) => {
            isComplete = false;
            return readTexts(missing);
          });
          return isComplete;
        },
        { what: 'the totals to be stored' },
      ),
    /** A read that found totals missing in Redis: `begun` resolves when it has read the counts, and it ends after `open`. */
    startRead(process: SharedTotals, ids: readonly string[]) {
      let open = () => {};
      let begin = () => {};
      const begun = new Promise<void>((resolve) => {
        begin = resolve;
      });
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      const result = process.read(workspaceId, ids, async (missing) => {
        const found = await readTexts(missing);
        begin();
        await gate;
        return found;
      });
      return { begun, open, result };
    },
  };
}

type Workspace = ReturnType<typeof aWorkspace>;
type Reading = ReturnType<Workspace['startRead']>;

/** Starts reads of a workspace in two processes. A read that does not find all totals in Redis ends only when it is finished here. */
export function createReadings({ startRead }: Workspace, readers: readonly [SharedTotals, SharedTotals]) {
  const underWay: Reading[] = [];
  const finish = async (readings: readonly Reading[]) => {
    for (const { open, result } of readings) {
      open();
      await result;
    }
  };
  return {
    async start(process: number, ids: readonly string[]): Promise<void> {
      const reading = startRead(readers[process] ?? readers[0], ids);
      await Promise.race([reading.begun, reading.result]);
      underWay.push(reading);
    },
    finish: (which: number) => finish(underWay.splice(which % Math.max(1, underWay.length), 1)),
    finishAll: () => finish(underWay.splice(0)),
  };
}
