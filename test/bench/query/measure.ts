import type { ClickHouseClient } from '@waymark/clickhouse';
import { printTable } from '../lib/report.js';
import { startService } from '../lib/service.js';
import { INSTANCE_KEY } from '../lib/stores.js';
import { type Compared, compare, geometricMean, ROUNDS } from './compare.js';
import { baselineOf } from './dataset/baseline-tables.js';
import { BIG_RANK, benchClient, knownOf, REMOVING_RANK, TINY_RANK, type World } from './dataset/generate.js';
import { type Picks, pickValues } from './dataset/picks.js';
import { analyticsFamilies } from './families/analytics-families.js';
import { deepFamilies, eventFamilies, type Family } from './families/event-families.js';
import { FIRST_PAGES, type FirstRequestsBench, firstRequests, newWindows } from './first-requests.js';
import { memoryUnder, requestText, throughput, wholeAndAlone } from './http.js';
import { baselineRunner, groupRunner, newListRunner, pageRunner, type RunFamily } from './runners.js';

export const PARTS = ['events', 'pages', 'growth', 'analytics', 'http', 'first'] as const;
export type Part = (typeof PARTS)[number];

interface Bench {
  readonly big: World;
  readonly small: World;
  readonly clickhouseUrl: string;
  /** Process of ClickHouse. */
  readonly clickhousePid: number;
  readonly redisUrl: string;
  readonly redisPid: number;
  /** Another built checkout whose first requests are measured in turn with those of this one. */
  readonly other?: string | undefined;
  /** Of first requests, the pages whose names begin so. */
  readonly firstPages: string;
  /** How often each process of first requests is started. */
  readonly samples: number;
  readonly progress: (line: string) => void;
}

const ms = (value: number | undefined) => (value ?? Number.NaN).toFixed(1);
const ratio = (value: number) => value.toFixed(2);

async function compareAll(
  families: readonly Family[],
  systems: Readonly<Record<string, RunFamily>>,
  { progress, clickhousePid }: Bench,
): Promise<Compared[]> {
  const all: Compared[] = [];
  for (const family of families) {
    const compared = await compare(family, systems, clickhousePid);
    all.push(compared);
    const { ms: times, cpuMs, rows } = compared;
    progress(
      `${family.group}, ${family.name}: ${JSON.stringify(times)} CPU ${JSON.stringify(cpuMs)} ${JSON.stringify(rows)}`,
    );
  }
  return all;
}

/** Prints a row for each family: our times, the baseline's, and the baseline's divided by ours. */
function printRatios(title: string, all: readonly Compared[], names: readonly string[] = ['ours']): void {
  const ratiosOf = (of: (compared: Compared) => Compared['ms']) =>
    names.map((name) => all.map(of).map(({ [name]: ours = 0, baseline = 0 }) => baseline / ours));
  const ratios = ratiosOf(({ ms: times }) => times);
  const cpuRatios = ratiosOf(({ cpuMs }) => cpuMs);
  printTable(
    [
      `${title}; ms, median of ${ROUNDS}`,
      'family',
      ...names,
      'baseline',
      ...names.map((name) => `baseline ÷ ${name}`),
      ...names.map((name) => `${name}, CPU`),
      'baseline, CPU',
      ...names.map((name) => `baseline ÷ ${name}, CPU`),
      'rows',
    ],
    all.map(({ family, ms: times, cpuMs, rows }, index) => [
      family.group,
      family.name,
      ...names.map((name) => ms(times[name])),
      ms(times.baseline),
      ...ratios.map((of) => ratio(of[index] ?? Number.NaN)),
      ...names.map((name) => ms(cpuMs[name])),
      ms(cpuMs.baseline),
      ...cpuRatios.map((of) => ratio(of[index] ?? Number.NaN)),
      [...new Set([...names, 'baseline'].map((name) => rows[name]))].join(', baseline '),
    ]),
  );
  const summary = (of: readonly number[] = []) =>
    `geometric mean ${ratio(geometricMean(of))}, least ${ratio(Math.min(...of))}`;
  for (const [index, name] of names.entries()) {
    console.log(`\n${name}: ${summary(ratios[index])}; CPU of the engine: ${summary(cpuRatios[index])}.`);
  }
  console.log('');
}

class Measurement {
  readonly #bench: Bench;
  readonly #big: ClickHouseClient;
  readonly #small: ClickHouseClient;
  readonly #baseline: ClickHouseClient;

  constructor(bench: Bench) {
    this.#bench = bench;
    this.#big = benchClient(bench.clickhouseUrl, bench.big.database);
    this.#small = benchClient(bench.clickhouseUrl, bench.small.database);
    this.#baseline = benchClient(bench.clickhouseUrl, baselineOf(bench.big.database));
  }

  picks(rank: number): Promise<Picks> {
    return pickValues(this.#big, knownOf(this.#bench.big, rank));
  }

  async events(): Promise<void> {
    const { big } = this.#bench;
    for (const [rank, title] of [
      [BIG_RANK, 'GET /events, the busiest workspace'],
      [REMOVING_RANK, 'GET /events, a workspace with removed links'],
    ] as const) {
      const workspace = knownOf(big, rank);
      const systems = {
        first: newListRunner(this.#big, workspace),
        again: pageRunner(this.#big, workspace),
        baseline: baselineRunner(this.#baseline),
      };
      const families = eventFamilies(workspace, await this.picks(rank));
      const measured = rank === BIG_RANK ? families : families.filter((_family, index) => index % 4 === 2);
      printRatios(title, await compareAll(measured, systems, this.#bench), ['first', 'again']);
    }
  }

  async pages(): Promise<void> {
    const { big } = this.#bench;
    const workspace = knownOf(big, BIG_RANK);
    const clicks = Math.floor(big.sizes.clicks / 6);
    const systems = { ours: pageRunner(this.#big, workspace), baseline: baselineRunner(this.#baseline) };
    printRatios('GET /events, far pages', await compareAll(deepFamilies(workspace, clicks), systems, this.#bench));
  }

  /** Page 1 of a large and a tiny workspace, and of the same workspace in a data set ten times as large. */
  async growth(): Promise<void> {
    const { big, small } = this.#bench;
    const first = { group: 'growth', name: 'page 1 since ever', query: { interval: 'all' }, baseline: '' };
    const families: Family[] = [
      first,
      { ...first, name: 'page 1 of a country', query: { interval: 'all', country: 'US' } },
      { ...first, name: 'page 1, oldest first', query: { interval: 'all', sortOrder: 'asc' } },
    ];
    const all = await compareAll(
      families,
      {
        big: pageRunner(this.#big, knownOf(big, BIG_RANK)),
        tiny: pageRunner(this.#big, knownOf(big, TINY_RANK)),
        small: pageRunner(this.#small, knownOf(small, BIG_RANK)),
      },
      this.#bench,
    );
    printTable(
      [
        `GET /events; ms, median of ${ROUNDS}`,
        'busiest workspace',
        'tiny workspace',
        'busiest ÷ tiny',
        `busiest of ${small.sizes.clicks} clicks`,
        `${big.sizes.clicks} ÷ ${small.sizes.clicks}`,
      ],
      all.map(({ family, ms: times }) => {
        const { big: biggest = 0, tiny = 0, small: smaller = 0 } = times;
        return [family.name, ms(biggest), ms(tiny), ratio(biggest / tiny), ms(smaller), ratio(biggest / smaller)];
      }),
    );
    console.log('');
  }

  async analytics(): Promise<void> {
    const { big } = this.#bench;
    const workspace = knownOf(big, BIG_RANK);
    const systems = { ours: groupRunner(this.#big, workspace), baseline: baselineRunner(this.#baseline) };
    const families = analyticsFamilies(workspace, await this.picks(BIG_RANK));
    printRatios('GET /analytics, the busiest workspace', await compareAll(families, systems, this.#bench));
  }

  async http(): Promise<void> {
    const { big, clickhouseUrl, redisUrl } = this.#bench;
    const workspace = knownOf(big, BIG_RANK);
    const service = await startService('query', {
      REDIS_URL: redisUrl,
      CLICKHOUSE_URL: clickhouseUrl,
      CLICKHOUSE_DATABASE: big.database,
      INSTANCE_KEY,
      LOG_LEVEL: 'warn',
    });
    try {
      const wholes: string[][] = [];
      for (const [event, limit] of [
        ['clicks', '100'],
        ['leads', '100'],
        ['sales', '100'],
        ['clicks', '1000'],
        ['sales', '1000'],
      ] as const) {
        const query = { event, interval: 'all', limit };
        const { wholeMs, aloneMs } = await wholeAndAlone(service, this.#big, workspace, query);
        wholes.push([`${limit} ${event}`, ms(wholeMs), ms(aloneMs), ratio(wholeMs / aloneMs)]);
      }
      printTable(['GET /events over HTTP; ms, medians', 'whole request', 'its query alone', 'whole ÷ alone'], wholes);
      console.log('');

      const page = requestText(workspace, { interval: 'all' });
      const rates: string[][] = [];
      for (const connections of [1, 8, 32]) {
        const { perSecond, p50, p95 } = await throughput(service, page, connections, 600);
        rates.push([String(connections), perSecond.toFixed(0), ms(p50), ms(p95)]);
      }
      printTable(['callers, 100 items each', 'requests a second', 'p50, ms', 'p95, ms'], rates);
      console.log('');

      const large = requestText(workspace, { interval: 'all', limit: '1000' });
      const { before, quarters } = await memoryUnder(service, large, 32, 1500);
      const megabytes = (value: number) => value.toFixed(0);
      printTable(
        ['memory of the query service, 32 callers of 1000 items; MB', 'before', '1st quarter', '2nd', '3rd', '4th'],
        [['highest', megabytes(before), ...quarters.map(megabytes)]],
      );
      console.log('');
    } finally {
      await service.stop();
    }
  }

  /** First requests of windows, and many callers of new windows. */
  async first(): Promise<void> {
    const { big, clickhouseUrl, clickhousePid, redisUrl, redisPid, other, firstPages, samples, progress } = this.#bench;
    const environment = {
      ...{ REDIS_URL: redisUrl, CLICKHOUSE_URL: clickhouseUrl, CLICKHOUSE_DATABASE: big.database },
      ...{ INSTANCE_KEY, LOG_LEVEL: 'warn' },
    };
    const bench: FirstRequestsBench = {
      ...{ client: this.#big, redisUrl, redisPid, enginePid: clickhousePid, samples, progress },
      ...{ workspace: knownOf(big, BIG_RANK), otherWorkspace: knownOf(big, REMOVING_RANK) },
      checkouts: {
        ...(other === undefined ? {} : { before: () => startService('query', environment, other) }),
        now: () => startService('query', environment),
      },
    };
    const firsts: string[][] = [];
    for (const page of FIRST_PAGES.filter(({ limit, event }) => `${limit} ${event}`.startsWith(firstPages))) {
      const all = await firstRequests(bench, page);
      const rows = all.map((one) => [
        `${page.limit} ${page.event}`,
        ...[one.state, one.checkout, ms(one.wholeMs), ms(one.aloneMs), ratio(one.ratio), ms(one.statements)],
      ]);
      firsts.push(...rows);
      for (const row of rows) progress(row.join(' | '));
    }
    printTable(
      [
        'GET /events over HTTP, the first request of a window; ms, medians',
        ...['state', 'checkout', 'whole request', 'its page alone', 'whole ÷ alone', 'statements'],
      ],
      firsts,
    );
    console.log('');
    const rates = await newWindows(bench, samples);
    printTable(
      [
        '8 callers, 100 clicks of a new window each',
        ...['requests a second', 'p50, ms', 'p95, ms', 'CPU ms a request: service', 'engine', 'Redis'],
      ],
      rates.map(({ checkout, perSecond, p50, p95, cpuMs }) => [
        ...[checkout, perSecond.toFixed(0), ms(p50), ms(p95)],
        ...[cpuMs.service, cpuMs.engine, cpuMs.redis].map(ratio),
      ]),
    );
    console.log('');
  }

  /** Size on disk of both layouts, in total. */
  async disk(): Promise<void> {
    const { database, sizes } = this.#bench.big;
    const result = await this.#big.query({
      query: `SELECT database, table, sum(bytes_on_disk), count() FROM system.parts
WHERE active AND database IN ({names:Array(String)}) GROUP BY database, table HAVING sum(rows) > 10000 ORDER BY database, table`,
      query_params: { names: [database, baselineOf(database)] },
      format: 'JSONCompactEachRow',
    });
    const rows = await result.json<[string, string, string, string]>();
    const total = (name: string) =>
      rows.filter(([owner]) => owner === name).reduce((sum, [, , bytes]) => sum + Number(bytes), 0) / sizes.clicks;
    printTable(
      ['table', 'MB', 'parts'],
      rows.map(([owner, table, bytes, parts]) => [`${owner}.${table}`, (Number(bytes) / 1e6).toFixed(0), parts]),
    );
    console.log(
      `\nBytes a click: ours ${total(database).toFixed(0)}, baseline ${total(baselineOf(database)).toFixed(0)}.\n`,
    );
  }

  async close(): Promise<void> {
    await Promise.all([this.#big.close(), this.#small.close(), this.#baseline.close()]);
  }
}

/** Runs the selected parts and prints their tables. */
export async function measure(bench: Bench, parts: readonly Part[]): Promise<void> {
  const measurement = new Measurement(bench);
  try {
    await measurement.disk();
    for (const part of parts) await measurement[part]();
  } finally {
    await measurement.close();
  }
}
