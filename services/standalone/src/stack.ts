import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { embeddedCommand, embeddedEntry, embeddedSocketUrl, newEmbeddedPassword } from '@waymark/clickhouse-embedded';
import {
  adminKeyFiles,
  type DataDirLock,
  endProcesses,
  environmentWith,
  type InstanceKeys,
  instanceKeyFiles,
  lockDataDir,
  markQueueEmpty,
  prepareStoreSockets,
  readAdminKeys,
  readInstanceKeys,
  removeRunState,
  type Settings,
  unmarkQueue,
  writeRunState,
} from '@waymark/config';
import { redisSocketUrl } from '@waymark/redis';
import { Children } from './children.js';
import { reportingFullDisk, reportShortages } from './data-dir/disk-needs.js';
import { COUNT_MS_MAX, isQueueEmpty } from './data-dir/queued-jobs.js';
import { launchNode, processEntry } from './launch.js';
import { checkPort } from './ports.js';
import { launchRedis } from './redis-process.js';

/** The addresses of the stores, and the keys of the installation. */
export interface Stores {
  readonly redisUrl: string;
  readonly clickhouseUrl: string;
  readonly instanceKeys: InstanceKeys;
}

/** What {@link startStack} starts. */
export interface StackOptions {
  readonly settings: Settings;
  /** The default domain, for links that are created without one. */
  readonly domain: string;
  /** Called with lines for the terminal. */
  readonly report: (line: string) => void;
  /** Aborts the start. When it is aborted later, children that end are not started again. */
  readonly signal: AbortSignal;
  /** Runs when the stores accept connections, before the services start. */
  readonly prepare: (stores: Stores) => Promise<void>;
}

/** A running stack. */
export interface Stack {
  /** URL of the API port, without a trailing slash. */
  readonly api: string;
  /** URL of the link port, without a trailing slash. */
  readonly links: string;
  /** Stops http, writer, ClickHouse and Redis, in that order. */
  close(): Promise<void>;
}

const STORE_STOP_MS = 10_000;
const WRITE_AGAIN_MS = 2_000;
/** Added to the shutdown deadline that a service applies itself, before it is killed. */
const SERVICE_STOP_EXTRA_MS = 1_000;

/** The longest time that stopping the stack can take, in milliseconds. */
export function stackStopMs({ shutdownDeadlineMs }: Settings): number {
  return 2 * (shutdownDeadlineMs + SERVICE_STOP_EXTRA_MS) + 2 * STORE_STOP_MS + COUNT_MS_MAX;
}

function urlOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** The `main` file of a service, beside the `index` of its package: TypeScript when run from sources, else compiled. */
function entryOf(packageName: string): URL {
  return new URL(import.meta.resolve(packageName).replace(/index\.(js|ts)$/, 'main.$1'));
}

/** Creates the keys on the first start, and checks those of later ones. @throws SettingsError */
function prepareKeys(settings: Settings): InstanceKeys {
  if (settings.instanceKey === undefined) instanceKeyFiles.ensure(settings.dataDir);
  if (settings.adminKey === undefined) adminKeyFiles.ensure(settings.dataDir);
  readAdminKeys(settings);
  return readInstanceKeys(settings);
}

async function startStores({ settings, report }: StackOptions, children: Children): Promise<Stores> {
  const { dataDir, redisMaxmemoryMb, clickhouseSessions } = settings;
  const instanceKeys = prepareKeys(settings);
  unmarkQueue(dataDir);
  let { redisUrl, clickhouseUrl } = settings;
  if (redisUrl === undefined) {
    const { redis: socket } = await prepareStoreSockets(dataDir);
    const password = randomBytes(32).toString('base64url');
    const redis = { dataDir, socket, maxmemoryMb: redisMaxmemoryMb, password, env: environmentWith({}) };
    await children.start('redis', STORE_STOP_MS, (signal) => launchRedis(redis, signal));
    redisUrl = redisSocketUrl(socket, password);
    report(`redis on ${socket}`);
  }
  if (clickhouseUrl === undefined) {
    const { clickhouse: socket } = await prepareStoreSockets(dataDir);
    const password = newEmbeddedPassword();
    const clickhouse = {
      name: 'clickhouse',
      entry: pathToFileURL(embeddedEntry()),
      dataDir,
      ...embeddedCommand({ dataDir: join(dataDir, 'clickhouse'), socket, password, sessions: clickhouseSessions }),
    };
    await children.start('clickhouse', STORE_STOP_MS, (signal) => launchNode(clickhouse, signal));
    clickhouseUrl = embeddedSocketUrl(socket, password);
    report(`clickhouse, embedded, on ${socket}`);
  }
  return { redisUrl, clickhouseUrl, instanceKeys };
}

interface Ports {
  readonly api: number;
  readonly links: number;
}

/** Starts the services with the supervisor's settings, in which the stores of this stack take the place of configured ones. */
async function startServices({ settings, domain }: StackOptions, children: Children, stores: Stores, ports: Ports) {
  const { dataDir, shutdownDeadlineMs } = settings;
  const env = environmentWith(
    {
      DATA_DIR: dataDir,
      API_PORT: String(ports.api),
      LINK_PORT: String(ports.links),
      DEFAULT_DOMAIN: domain,
      WRITER_PORT: String(settings.writerPort),
      REDIS_URL: stores.redisUrl,
      CLICKHOUSE_URL: stores.clickhouseUrl,
      // The children keep the keys of this start, even if the key files change meanwhile.
      INSTANCE_KEY: stores.instanceKeys.current.toString('hex'),
      INSTANCE_KEY_PREVIOUS: stores.instanceKeys.previous?.toString('hex') ?? '',
    },
    { LOG_LEVEL: 'warn' },
  );
  const stopMs = shutdownDeadlineMs + SERVICE_STOP_EXTRA_MS;
  const writer = { name: 'writer', entry: entryOf('@waymark/writer'), dataDir, env };
  await children.start('writer', stopMs, (signal) => launchNode(writer, signal));
  const http = { name: 'http', entry: processEntry('http'), dataDir, env };
  await children.start('http', stopMs, (signal) => launchNode(http, signal));
}

async function startLocked(options: StackOptions, lock: DataDirLock): Promise<Stack> {
  const { settings, report } = options;
  const { dataDir, host } = settings;
  // They hold ports and files.
  const { leftovers } = lock;
  if (leftovers.length > 0) report(`waiting for ${leftovers.length} processes of an earlier run to end`);
  await endProcesses(leftovers);
  await reportShortages(options.settings, options.report);
  removeRunState(dataDir);
  const ports: Ports = {
    api: await checkPort('API_PORT', settings.apiPort, host),
    links: await checkPort('LINK_PORT', settings.linkPort, host),
  };
  const [api, links] = [urlOf(host, ports.api), urlOf(host, ports.links)];

  let stores: Stores | undefined;
  const noteProcesses = () => {
    lock.noteChildren(children.pids());
    const [http, writer] = [children.pid('http'), children.pid('writer')];
    if (stores === undefined || http === undefined || writer === undefined) return;
    const { redisUrl: redis, clickhouseUrl: clickhouse } = stores;
    const storePids = { clickhouse: children.pid('clickhouse') ?? null, redis: children.pid('redis') ?? null };
    writeRunState(dataDir, {
      api,
      links,
      redis,
      clickhouse,
      pids: { supervisor: process.pid, http, writer, ...storePids },
    });
  };
  let isNoting = false;
  let isClosed = false;
  /** On a full disk the processes keep running; the run state is written once there is space again. */
  const noteRestart = () => {
    if (isClosed) return;
    try {
      noteProcesses();
      isNoting = false;
    } catch (err) {
      if (!isNoting) report(`DATA_DIR cannot be written (${(err as Error).message}): everything runs on, trying again`);
      isNoting = true;
      setTimeout(noteRestart, WRITE_AGAIN_MS).unref();
    }
  };
  const children = new Children({
    report: reportingFullDisk(dataDir, report),
    signal: options.signal,
    onStart: noteProcesses,
    onRestart: noteRestart,
  });

  const stop = async () => {
    let isEmpty = false;
    await children.stop(async (name) => {
      if (name === 'redis' && stores !== undefined) isEmpty = await isQueueEmpty(stores.redisUrl, report);
    });
    if (!isEmpty) return;
    try {
      markQueueEmpty(dataDir);
    } catch (err) {
      report(`the queue was not marked as empty: ${(err as Error).message}`);
    }
  };

  try {
    stores = await startStores(options, children);
    await options.prepare(stores);
    await startServices(options, children, stores, ports);
  } catch (err) {
    await stop();
    throw err;
  }
  return {
    api,
    links,
    async close() {
      isClosed = true;
      removeRunState(dataDir);
      await stop();
      lock.release();
    },
  };
}

/**
 * Starts everything on this machine and keeps it running. Rejects if another supervisor uses DATA_DIR. If a part cannot be started, or
 * `signal` aborts during the start, stops the parts that have been started, and rejects.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const lock = lockDataDir(options.settings.dataDir);
  try {
    return await startLocked(options, lock);
  } catch (err) {
    removeRunState(options.settings.dataDir);
    lock.release();
    throw err;
  }
}
