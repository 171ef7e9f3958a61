import { type CapacityPlan, type CapacityRequest, planCapacity } from '../capacity/plan-capacity.js';
import { CommandError } from '../command-error.js';
import { optionalText, type RawOption, requiredText } from '../option-values.js';
import { type CommandResult, table } from '../output.js';

function numberOption(name: string, text: string, minimum: number, maximum: number): number {
  const number = Number(text);
  if (text.trim() !== '' && number >= minimum && number <= maximum) return number;
  throw new CommandError(`--${name} must be a number from ${minimum} to ${maximum}`);
}

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
  const required = (name: string, value: RawOption, maximum: number) =>
    numberOption(name, requiredText(name, value), 0, maximum);
  const optional = (name: string, value: RawOption, fallback: number, minimum: number, maximum: number) =>
    numberOption(name, optionalText(name, value) ?? String(fallback), minimum, maximum);
  const request: CapacityRequest = {
    eventsPerSecond: required('events-per-second', options.eventsPerSecond, 1e9),
    queriesPerSecond: required('queries-per-second', options.queriesPerSecond, 1e6),
    retentionDays: required('retention-days', options.retentionDays, 36_500),
    leadShare: optional('lead-share', options.leadShare, 0.02, 0, 0.5),
    saleShare: optional('sale-share', options.saleShare, 0.005, 0, 0.5),
    peakFactor: optional('peak-factor', options.peakFactor, 3, 1, 100),
    outageMinutes: optional('outage-minutes', options.outageMinutes, 15, 0, 10_000),
    redisOutageMinutes: optional('redis-outage-minutes', options.redisOutageMinutes, 5, 0, 10_000),
    replicas: optional('replicas', options.replicas, 1, 1, 10),
  };
  const plan = planCapacity(request);
  return { data: { request, plan }, lines: lines(plan) };
}
