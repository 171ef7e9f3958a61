import { type CapacityPlan, type CapacityRequest, planCapacity } from '../capacity/plan-capacity.js';
import { numberOption, type RawOption } from '../option-values.js';
import { type CommandResult, table } from '../output.js';

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** Formats bytes with three digits and a unit. */
function bytesText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(bytes) / 3)));
  return `${Number((bytes / 1000 ** power).toPrecision(3))} ${UNITS[power]}`;
}

const coresText = (cores: number) => String(Number(cores.toPrecision(2)));

function durationText(seconds: number): string {
  if (seconds > 48 * 3600) return 'more than two days';
  return seconds > 2 * 3600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds)} s`;
}

function lines(plan: CapacityPlan): string[] {
  const { redis, spool, clickhouse, processes } = plan;
  return [
    ...table([
      ['at the peak', `${plan.peakEventsPerSecond} events a second`],
      ['installations', String(plan.installations)],
      ['redis', `maxmemory ${bytesText(redis.memoryBytes)} each, ${Math.round(redis.coreShare * 100)} % of its core`],
      ['redis restart', `${Math.round(redis.restartSeconds)} s to load its log with full memory`],
      [
        'spool',
        `SPOOL_MAX_MB=${Math.max(16, spool.megabytes)} each, for ${Math.round(spool.seconds)} s without Redis; 1024 last ${durationText(spool.defaultSeconds)}`,
      ],
      ['clickhouse disk', `${bytesText(clickhouse.bytesPerDay)} a day, ${bytesText(clickhouse.diskBytes)} in all`],
      [
        'clickhouse cores',
        `${coresText(clickhouse.insertCores)} for ${Math.round(clickhouse.insertsPerSecond)} inserts a second, ${coresText(clickhouse.queryCores)} for queries`,
      ],
      ...(clickhouse.keeperEntriesPerSecond === 0
        ? []
        : [['keeper', `${Math.round(clickhouse.keeperEntriesPerSecond)} entries a second`] as const]),
      ['clickhouse servers', String(clickhouse.servers)],
      [
        'processes',
        `ingest ${processes.ingest}, writer ${processes.writer}, query ${processes.query}, management ${processes.management}`,
      ],
      ['one machine', plan.fitsOneMachine ? 'is enough' : 'is not enough'],
      ['breaks first', plan.breaksFirst],
    ]),
  ];
}

export interface CapacityOptions {
  readonly eventsPerSecond?: RawOption;
  readonly queriesPerSecond?: RawOption;
  readonly retentionDays?: RawOption;
  readonly leadShare?: RawOption;
  readonly saleShare?: RawOption;
  readonly peakFactor?: RawOption;
  readonly outageMinutes?: RawOption;
  readonly redisOutageMinutes?: RawOption;
  readonly replicas?: RawOption;
}

/** Estimates memory, disk, cores and processes for a load, and the first bottleneck. Does not access any store. */
export async function showCapacity(options: CapacityOptions): Promise<CommandResult> {
  const request: CapacityRequest = {
    eventsPerSecond: numberOption('events-per-second', options.eventsPerSecond, { min: 0, max: 1e9 }),
    queriesPerSecond: numberOption('queries-per-second', options.queriesPerSecond, { min: 0, max: 1e6 }),
    retentionDays: numberOption('retention-days', options.retentionDays, { min: 0, max: 36_500 }),
    leadShare: numberOption('lead-share', options.leadShare, { min: 0, max: 0.5, usual: 0.02 }),
    saleShare: numberOption('sale-share', options.saleShare, { min: 0, max: 0.5, usual: 0.005 }),
    peakFactor: numberOption('peak-factor', options.peakFactor, { min: 1, max: 100, usual: 3 }),
    outageMinutes: numberOption('outage-minutes', options.outageMinutes, { min: 0, max: 10_000, usual: 15 }),
    redisOutageMinutes: numberOption('redis-outage-minutes', options.redisOutageMinutes, {
      min: 0,
      max: 10_000,
      usual: 5,
    }),
    replicas: numberOption('replicas', options.replicas, { min: 1, max: 10, isWhole: true, usual: 1 }),
  };
  const plan = planCapacity(request);
  return { data: { request, plan }, lines: lines(plan) };
}
