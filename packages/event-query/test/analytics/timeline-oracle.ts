import type { AnalyticsEvent, AnalyticsNumbers } from '@waymark/contract';
import { dayIn, isInRange, passes, type Wish } from '../wish.js';
import { eventsOf, NOW, type World } from '../world.js';
import { kindsOf, NOTHING, numbersOf, sum } from './oracle.js';

export interface TimeseriesWish {
  readonly event: AnalyticsEvent;
  readonly filters: Wish;
  readonly zone: string;
  readonly createdAtMs: number;
}

type Unit = 'hour' | 'day' | 'month';

const DAY_MS = 24 * 3_600_000;
const STEP_MS = 15 * 60_000;

const hourFormats = new Map<string, Intl.DateTimeFormat>();

/** `14+0530`, straight from Intl. */
function hourIn(zone: string, instantMs: number): string {
  const options = { timeZone: zone, hour: '2-digit', hourCycle: 'h23', timeZoneName: 'longOffset' } as const;
  const format = hourFormats.get(zone) ?? new Intl.DateTimeFormat('en-US', options);
  hourFormats.set(zone, format);
  const parts = new Map(format.formatToParts(instantMs).map(({ type, value }) => [type, value]));
  const offset = parts.get('timeZoneName')!.replace('GMT', '').replace(':', '');
  return parts.get('hour')! + (offset === '' ? '+0000' : offset);
}

/** What the text of an instant has in common with all others of its bucket. */
function labelOf(instantMs: number, zone: string, unit: Unit): string {
  const day = dayIn(zone, instantMs);
  if (unit === 'hour') return `${day}T${hourIn(zone, instantMs)}`;
  return unit === 'day' ? day : day.slice(0, 7);
}

/** The same of the `start` of a row. */
function labelOfStart(start: string, unit: Unit): string {
  if (unit !== 'hour') return start.slice(0, unit === 'day' ? 10 : 7);
  return start.slice(0, 13) + start.slice(-5);
}

function daysBetween(firstMs: number, lastMs: number, zone: string): number {
  return (Date.parse(dayIn(zone, lastMs)) - Date.parse(dayIn(zone, firstMs))) / DAY_MS;
}

/** Instants that are in the range, a quarter of an hour apart, its very ends included. */
function instantsIn({ filters: { range }, zone, createdAtMs }: TimeseriesWish): number[] {
  const ends = range.type === 'times' ? [range.startMs, range.endMs] : [NOW];
  const first =
    range.type === 'days'
      ? Math.min(Date.parse(range.start), Date.parse(range.end))
      : Math.min(...ends, createdAtMs) - 400 * DAY_MS;
  const from = Math.floor(first / STEP_MS) * STEP_MS - 2 * DAY_MS;
  const to = range.type === 'days' ? Math.max(Date.parse(range.start), Date.parse(range.end)) : Math.max(...ends);
  const created = dayIn(zone, createdAtMs);
  const isAll = range.type === 'interval' && range.interval === 'all';
  // Far from the present, only days matter.
  const stepAt = (instant: number) => (instant < NOW - 50 * DAY_MS ? 24 * STEP_MS : STEP_MS);
  const instants = [...ends];
  for (let instant = from; instant <= to + 3 * DAY_MS; instant += stepAt(instant)) instants.push(instant);
  return instants
    .filter((instant) => isInRange(range, instant) && (!isAll || dayIn(zone, instant) >= created))
    .sort((a, b) => a - b);
}

function unitOf({ filters: { range }, zone }: TimeseriesWish, instants: readonly number[]): Unit {
  if (range.type === 'interval' && range.interval === '24h') return 'hour';
  if (range.type === 'interval' && range.interval === 'mtd') return 'day';
  if (range.type === 'interval' && range.interval === 'ytd') return 'month';
  const days = daysBetween(instants[0]!, instants.at(-1)!, zone);
  return days <= 2 ? 'hour' : days > 180 ? 'month' : 'day';
}

/** Rows of a time series by the label of their bucket, in order, worked out without our arithmetic of zones. */
export function bucketsIn(world: World, wish: TimeseriesWish): { label: string; numbers: AnalyticsNumbers }[] {
  const instants = instantsIn(wish);
  const unit = unitOf(wish, instants);
  const buckets = new Map(instants.map((instant) => [labelOf(instant, wish.zone, unit), NOTHING]));
  for (const kind of kindsOf(wish.event)) {
    for (const event of eventsOf(world, kind)) {
      const label = labelOf(event.timeMs, wish.zone, unit);
      const numbers = buckets.get(label);
      const created = dayIn(wish.zone, wish.createdAtMs);
      const { range } = wish.filters;
      const isTooOld =
        range.type === 'interval' && range.interval === 'all' && dayIn(wish.zone, event.timeMs) < created;
      if (numbers === undefined || isTooOld || !passes(world, { ...wish.filters, event: kind }, event)) continue;
      buckets.set(label, sum(numbers, numbersOf(kind, event)));
    }
  }
  return [...buckets].map(([label, numbers]) => ({ label, numbers }));
}

/** Rows of an answer in the same terms. */
export function labelled(rows: readonly ({ readonly start: string } & AnalyticsNumbers)[], labels: readonly string[]) {
  const length = labels[0]?.length;
  const unit: Unit = length === 7 ? 'month' : length === 10 ? 'day' : 'hour';
  return rows.map(({ start, ...numbers }) => ({ label: labelOfStart(start, unit), numbers }));
}
