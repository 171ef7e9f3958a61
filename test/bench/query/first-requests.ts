import type { ClickHouseClient } from '@waymark/clickhouse';
import { type EventKind, eventsQuerySchema } from '@waymark/contract';
import { compile } from '@waymark/event-query';
import { Redis } from 'ioredis';
import { processCpuMicroseconds } from '../lib/process-cpu.js';
import type { BenchService } from '../lib/service.js';
import { median, percentile } from '../lib/statistics.js';
import type { KnownWorkspace } from './dataset/generate.js';
import { DAY_MS, END_MS } from './dataset/world.js';
import { programOf } from './families/event-families.js';
import { request, requestText } from './http.js';

/*
 * First requests of a window: nothing of its links, customers, tags and counters is in the memory of the process. Windows are ranges of
 * thirty days that end at times of their own, so that each has other newest events.
 */

/** Requests to another workspace that compile the code of a service and open its connections. */
const WARM_UP = 40;
/** New windows that are requested from a running process, after its first one. */
const LATER_WINDOWS = 6;
const WINDOW_MS = 30 * DAY_MS;
const CALLERS = 8;
const REQUESTS_PER_ROUND = 240;

/** A requested page, and how far the windows of two requests are apart: about as long as its events took. */
export interface FirstPage {
  readonly event: EventKind;
  readonly limit: 100 | 1000;
  readonly stepMs: number;
}

export const FIRST_PAGES: readonly FirstPage[] = [
  { event: 'clicks', limit: 100, stepMs: 2.3 * 3_600_000 },
  { event: 'leads', limit: 100, stepMs: 2.3 * DAY_MS },
  { event: 'sales', limit: 100, stepMs: 5.3 * DAY_MS },
  { event: 'clicks', limit: 1000, stepMs: DAY_MS },
  { event: 'leads', limit: 1000, stepMs: 5.3 * DAY_MS },
  { event: 'sales', limit: 1000, stepMs: 5.3 * DAY_MS },
];
/** Windows end within the year before the end of the data. */
const YEAR_MS = 365 * DAY_MS;

function queryOf({ event, limit, stepMs }: FirstPage, index: number) {
  const endMs = END_MS - 3 * DAY_MS - ((index * stepMs) % YEAR_MS);
  const [start, end] = [endMs - WINDOW_MS, endMs].map((ms) => new Date(ms).toISOString());
  return { event, limit: String(limit), start: start ?? '', end: end ?? '' };
}
type Query = ReturnType<typeof queryOf>;

export interface FirstRequestsBench {
  readonly client: ClickHouseClient;
  readonly redisUrl: string;
  readonly redisPid: number;
  readonly enginePid: number;
  readonly workspace: KnownWorkspace;
  /** For warming up. */
  readonly otherWorkspace: KnownWorkspace;
  /** Starts a service of each checkout, by name. */
  readonly checkouts: Readonly<Record<string, () => Promise<BenchService>>>;
  readonly samples: number;
  readonly progress: (line: string) => void;
}

interface Sample {
  readonly wholeMs: number;
  readonly aloneMs: number;
  readonly statements: number;
}

/** What a first request of a window costs one checkout, in one state of Redis. */
export interface FirstRequests {
  readonly page: FirstPage;
  readonly checkout: string;
  readonly state: string;
  readonly wholeMs: number;
  readonly aloneMs: number;
  /** Median of the ratios of whole requests to their page's statement. */
  readonly ratio: number;
  readonly statements: number;
}

async function selects(client: ClickHouseClient): Promise<number> {
  const [row] = await client.rows<[string]>({ query: "SELECT value FROM system.events WHERE event = 'SelectQuery'" });
  return Number(row?.[0] ?? 0);
}

async function measure({ client, workspace }: FirstRequestsBench, port: number, query: Query): Promise<Sample> {
  const scope = { workspaceId: workspace.publicId, programId: programOf(workspace.rank) };
  const compiled = compile(
    { query: eventsQuerySchema.parse(query), scope, stats: { hasRemovedLinks: false } },
    Date.now(),
  );
  const { sql, params, settings } = compiled;
  const alone = async () => {
    const start = performance.now();
    await client.rows({ query: sql, parameters: params, settings: { ...settings, readonly: '2' } });
    return performance.now() - start;
  };
  await alone();
  const before = await selects(client);
  const { latenciesMs } = await request(port, requestText(workspace, query), 1);
  // The statement that counts them is one of them.
  const statements = (await selects(client)) - before - 1;
  return { wholeMs: latenciesMs[0] ?? Number.NaN, aloneMs: await alone(), statements };
}

async function warmUp(bench: FirstRequestsBench, port: number, page: FirstPage): Promise<void> {
  for (let index = 0; index < WARM_UP; index++) {
    await request(port, requestText(bench.otherWorkspace, queryOf(page, index)), 1);
  }
}

function summary(page: FirstPage, checkout: string, state: string, samples: readonly Sample[]): FirstRequests {
  return {
    ...{ page, checkout, state },
    wholeMs: median(samples.map(({ wholeMs }) => wholeMs)),
    aloneMs: median(samples.map(({ aloneMs }) => aloneMs)),
    ratio: median(samples.map(({ wholeMs, aloneMs }) => wholeMs / aloneMs)),
    statements: median(samples.map(({ statements }) => statements)),
  };
}

/** Processes share totals once a writer has started, which does this. */
const startGeneration = (redis: Redis) => redis.set('waymark:cache:totals-generation', 'bench');

/** Measures first requests of a page: of processes that have just started, and of running ones; with a warm Redis, and with an empty one. */
export async function firstRequests(bench: FirstRequestsBench, page: FirstPage): Promise<FirstRequests[]> {
  const redis = new Redis(bench.redisUrl);
  await startGeneration(redis);
  const samples = new Map<string, Sample[]>();
  const add = (checkout: string, state: string, sample: Sample) => {
    const key = `${checkout}/${state}`;
    samples.set(key, [...(samples.get(key) ?? []), sample]);
  };
  let index = 0;
  for (const isWarm of [true, false]) {
    for (let round = 0; round < bench.samples; round++) {
      const queries = Array.from({ length: 1 + LATER_WINDOWS }, () => queryOf(page, index++));
      const sides = Object.entries(bench.checkouts);
      for (const [checkout, start] of round % 2 === 0 ? sides : sides.reverse()) {
        if (!isWarm) {
          await redis.flushall();
          await startGeneration(redis);
        } else {
          const filler = await start();
          for (const query of queries) await request(filler.port, requestText(bench.workspace, query), 1);
          await filler.stop();
        }
        const service = await start();
        await warmUp(bench, service.port, page);
        for (const [number, query] of queries.entries()) {
          const state = `${number === 0 ? 'just started' : 'running'}, Redis ${isWarm ? 'warm' : 'empty'}`;
          add(checkout, state, await measure(bench, service.port, query));
        }
        await service.stop();
      }
      bench.progress(`${page.limit} ${page.event}, Redis ${isWarm ? 'warm' : 'empty'}: ${round + 1}`);
    }
  }
  redis.disconnect();
  return [...samples].map(([key, all]) => {
    const [checkout = '', state = ''] = key.split('/');
    return summary(page, checkout, state, all);
  });
}

/** New windows from several callers: requests a second, and the CPU time that each takes of each process. */
export interface NewWindows {
  readonly checkout: string;
  readonly perSecond: number;
  readonly p50: number;
  readonly p95: number;
  /** Milliseconds of CPU a request. */
  readonly cpuMs: { readonly service: number; readonly engine: number; readonly redis: number };
}

/** Requests new windows from each checkout in turn, while Redis has their records. */
export async function newWindows(bench: FirstRequestsBench, rounds: number): Promise<NewWindows[]> {
  const [page] = FIRST_PAGES;
  if (page === undefined) throw new Error('no pages');
  const services = await Promise.all(
    Object.entries(bench.checkouts).map(async ([checkout, start]) => ({ checkout, service: await start() })),
  );
  // The last one fills all that the others read.
  const filler = await Object.values(bench.checkouts).at(-1)?.();
  const seen = new Map<string, { seconds: number; latencies: number[]; cpu: number[] }>();
  try {
    for (const { service } of services) await warmUp(bench, service.port, page);
    for (let round = 0; round < rounds; round++) {
      const texts = Array.from({ length: REQUESTS_PER_ROUND }, (_, index) =>
        requestText(bench.workspace, queryOf(page, 1000 + round * REQUESTS_PER_ROUND + index)),
      );
      const send = (port: number) => request(port, (index) => texts[index] ?? '', REQUESTS_PER_ROUND, CALLERS);
      await send(filler?.port ?? 0);
      for (const { checkout, service } of round % 2 === 0 ? services : [...services].reverse()) {
        const pids = [service.pid, bench.enginePid, bench.redisPid];
        const before = pids.map(processCpuMicroseconds);
        const { latenciesMs, seconds } = await send(service.port);
        const cpu = pids.map((pid, at) => processCpuMicroseconds(pid) - (before[at] ?? 0));
        const known = seen.get(checkout) ?? { seconds: 0, latencies: [], cpu: [0, 0, 0] };
        seen.set(checkout, {
          seconds: known.seconds + seconds,
          latencies: [...known.latencies, ...latenciesMs],
          cpu: known.cpu.map((sum, at) => sum + (cpu[at] ?? 0)),
        });
        bench.progress(`new windows, ${checkout}: ${(REQUESTS_PER_ROUND / seconds).toFixed(0)} a second`);
      }
    }
  } finally {
    await Promise.all([filler?.stop(), ...services.map(({ service }) => service.stop())]);
  }
  return [...seen].map(([checkout, { seconds, latencies, cpu }]) => {
    const count = rounds * REQUESTS_PER_ROUND;
    const [service = 0, engine = 0, redis = 0] = cpu.map((us) => us / count / 1000);
    return {
      checkout,
      perSecond: count / seconds,
      p50: percentile(latencies, 0.5),
      p95: percentile(latencies, 0.95),
      cpuMs: { service, engine, redis },
    };
  });
}
