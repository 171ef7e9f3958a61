import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { eventsQuerySchema } from '@waymark/contract';
import { compile } from '@waymark/event-query';
import { closedLoop } from '../lib/http-load.js';
import type { BenchProcess } from '../lib/service.js';
import { median, percentile } from '../lib/statistics.js';
import type { KnownWorkspace } from './dataset/generate.js';
import { programOf } from './families/event-families.js';

const ROUNDS = 60;
const SAMPLE_MS = 100;

export function requestText({ token }: KnownWorkspace, query: Readonly<Record<string, string>>): string {
  return `GET /events?${new URLSearchParams(query)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
}

/** @param text of each request, by its number where they differ */
export async function request(
  port: number,
  text: string | ((index: number) => string),
  count: number,
  connections = 1,
) {
  const textOf = typeof text === 'string' ? () => text : text;
  const report = await closedLoop({ port, count, connections, request: textOf });
  if (report.statuses['200'] !== count) throw new Error(`answers other than 200: ${JSON.stringify(report.statuses)}`);
  return report;
}

/** Median milliseconds of a whole request, and of its page statement alone, measured alternately. */
export async function wholeAndAlone(
  service: BenchProcess,
  client: ClickHouseClient,
  workspace: KnownWorkspace,
  query: Readonly<Record<string, string>>,
): Promise<{ readonly wholeMs: number; readonly aloneMs: number }> {
  const scope = { workspaceId: workspace.publicId, programId: programOf(workspace.rank) };
  const stats = { hasRemovedLinks: false };
  const { sql, params, settings } = compile({ query: eventsQuerySchema.parse(query), scope, stats }, Date.now());
  const alone = async () => {
    const start = performance.now();
    await client.rows({ query: sql, parameters: params, settings: { ...settings, readonly: '2' } });
    return performance.now() - start;
  };
  const text = requestText(workspace, query);
  const times: { whole: number[]; alone: number[] } = { whole: [], alone: [] };
  for (let round = -10; round < ROUNDS; round++) {
    const { latenciesMs } = await request(service.port, text, 1);
    const took = await alone();
    if (round < 0) continue;
    times.whole.push(latenciesMs[0] ?? Number.NaN);
    times.alone.push(took);
  }
  return { wholeMs: median(times.whole), aloneMs: median(times.alone) };
}

export interface Throughput {
  readonly connections: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p95: number;
}

/** Requests per second of a number of callers, each of which sends its next request when the last one is answered. */
export async function throughput(
  service: BenchProcess,
  text: string,
  connections: number,
  count: number,
): Promise<Throughput> {
  await request(service.port, text, Math.min(count, 2 * connections), connections);
  const { latenciesMs, seconds } = await request(service.port, text, count, connections);
  return {
    connections,
    perSecond: count / seconds,
    p50: percentile(latenciesMs, 0.5),
    p95: percentile(latenciesMs, 0.95),
  };
}

function residentMegabytes(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

/** Memory of the service in MB, before and during requests: the maximum of each quarter of the time. */
export async function memoryUnder(
  service: BenchProcess,
  text: string,
  connections: number,
  count: number,
): Promise<{ readonly before: number; readonly quarters: readonly number[] }> {
  const before = residentMegabytes(service.pid);
  const samples: number[] = [];
  let isRunning = true;
  const sampling = (async () => {
    while (isRunning) {
      samples.push(residentMegabytes(service.pid));
      await delay(SAMPLE_MS);
    }
  })();
  await request(service.port, text, count, connections);
  isRunning = false;
  await sampling;
  const quarter = Math.ceil(samples.length / 4);
  return {
    before,
    quarters: [0, 1, 2, 3].map((index) => Math.max(...samples.slice(index * quarter, (index + 1) * quarter))),
  };
}
