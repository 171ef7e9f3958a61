import type { AnalyticsEvent, AnalyticsNumbers } from '@waymark/contract';
import { dayIn, isInRange, passes, type RequestSpec } from '../request-spec.js';
import { eventsOf, NOW, type World } from '../world.js';
import { kindsOf, NOTHING, numbersOf, sum } from './oracle.js';

export interface TimeseriesSpec {
  readonly event: AnalyticsEvent;
  readonly filters: RequestSpec;
  readonly zone: string;
  readonly sinceMs: number;
}

type Unit = 'hour' | 'day' | 'month';

const DAY_MS = 24 * 3_600_000;
const STEP_MS = 15 * 60_000;

const hourFormats = new Map<string, Intl.DateTimeFormat>();

/** Hour and UTC offset, such as `14+0530`, from Intl. */
function hourIn(zone: string, instantMs: number): string {
  const options = { timeZone: zone, hour: '2-digit', hourCycle: 'h23', timeZoneName: 'longOffset' } as const;
  const format = hourFormats.get(zone) ?? new Intl.DateTimeFormat('en-US', options);
  hourFormats.set(zone, format);
  const parts = new Map(format.formatToParts(instantMs).map(({ type, value }) => [type, value]));
  const offset = parts.get('timeZoneName')!.replace('GMT', '').replace(':', '');
  return parts.get('hour')! + (offset === '' ? '+0000' : offset);
}

/** A label of the bucket that contains the instant: the part of its text that is the same in the whole bucket. */
function labelOf(instantMs: number, zone: string, unit: Unit): string {
  const day = dayIn(zone, instantMs);
  if (unit === 'hour') return `${day}T${hourIn(zone, instantMs)}`;
  return unit === 'day' ? day : day.slice(0, 7);
}

/** The label for the `start` of a row in the response. */
function labelOfStart(start: string, unit: Unit): string {
  if (unit !== 'hour') return start.slice(0, unit === 'day' ? 10 : 7);
  return start.slice(0, 13) + start.slice(-5);
}

function daysBetween(firstMs: number, lastMs: number, zone: string): number {
  return (Date.parse(dayIn(zone, lastMs)) - Date.parse(dayIn(zone, firstMs))) / DAY_MS;
}

/** Instants in the range, 15 minutes apart, and both ends of the range. */
function instantsIn({ filters: { range }, zone, sinceMs }: TimeseriesSpec): number[] {
  const ends = range.type === 'times' ? [range.startMs, range.endMs] : [NOW];
  const first =
    range.type === 'days'
      ? Math.min(Date.parse(range.start), Date.parse(range.end))
      : Math.min(...ends, sinceMs) - 400 * DAY_MS;
  const from = Math.floor(first / STEP_MS) * STEP_MS - 2 * DAY_MS;
  const to = range.type === 'days' ? Math.max(Date.parse(range.start), Date.parse(range.end)) : Math.max(...ends);
  const created = dayIn(zone, sinceMs);
  const isAll = range.type === 'interval' && range.interval === 'all';
  // Far in the past, buckets are days or longer, so bigger steps are enough.
  const stepAt = (instant: number) => (instant < NOW - 50 * DAY_MS ? 24 * STEP_MS : STEP_MS);
  const instants = [...ends];
  for (let instant = from; instant <= to + 3 * DAY_MS; instant += stepAt(instant)) instants.push(instant);
  return instants
    .filter((instant) => isInRange(range, instant) && (!isAll || dayIn(zone, instant) >= created))
    .sort((a, b) => a - b);
}

function unitOf({ filters: { range }, zone }: TimeseriesSpec, instants: readonly number[]): Unit {
  if (range.type === 'interval' && range.interval === '24h') return 'hour';
  if (range.type === 'interval' && range.interval === 'mtd') return 'day';
  if (range.type === 'interval' && range.interval === 'ytd') return 'month';
  const days = daysBetween(instants[0]!, instants.at(-1)!, zone);
  return days <= 2 ? 'hour' : days > 180 ? 'month' : 'day';
}

/** The expected rows of a time series, labelled by bucket, in order. Uses Intl instead of the code under test for time zones. */
export function bucketsIn(world: World, spec: TimeseriesSpec): { label: string; numbers: AnalyticsNumbers }[] {
  const instants = instantsIn(spec);
  const unit = unitOf(spec, instants);
  const buckets = new Map(instants.map((instant) => [labelOf(instant, spec.zone, unit), NOTHING]));
  for (const kind of kindsOf(spec.event)) {
    for (const event of eventsOf(world, kind)) {
      const label = labelOf(event.timeMs, spec.zone, unit);
      const numbers = buckets.get(label);
      const created = dayIn(spec.zone, spec.sinceMs);
      const { range } = spec.filters;
      const isTooOld =
        range.type === 'interval' && range.interval === 'all' && dayIn(spec.zone, event.timeMs) < created;
      if (numbers === undefined || isTooOld || !passes(world, { ...spec.filters, event: kind }, event)) continue;
      buckets.set(label, sum(numbers, numbersOf(kind, event)));
    }
  }
  return [...buckets].map(([label, numbers]) => ({ label, numbers }));
}

/** Converts rows of the response to the format of {@link bucketsIn}. */
export function labelled(rows: readonly ({ readonly start: string } & AnalyticsNumbers)[], labels: readonly string[]) {
  const length = labels[0]?.length;
  const unit: Unit = length === 7 ? 'month' : length === 10 ? 'day' : 'hour';
  return rows.map(({ start, ...numbers }) => ({ label: labelOfStart(start, unit), numbers }));
}
