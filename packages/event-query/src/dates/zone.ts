import { DAY_MS } from './calendar.js';

/**
 * Wall-clock arithmetic in an IANA zone on top of Intl: where a day starts and ends, and what instant a local time is, on
 * both edges of daylight saving. A local time is held as the epoch milliseconds it would have in UTC.
 */
export interface Zone {
  /** Canonical name. */
  readonly name: string;
  toLocal(instantMs: number): number;
  /** The instant of a local time: the earlier of two, and after a gap as many minutes as the time lies inside it. */
  toInstant(localMs: number): number;
  /** First instant of the local day that begins at `midnightMs`. */
  dayStart(midnightMs: number): number;
  /** Last instant of the local day that begins at `midnightMs`; before its start when the zone skipped that day. */
  dayEnd(midnightMs: number): number;
  /** The instant in (low, high] at which the offset becomes the one it has at `high`; it must be another at `low`. */
  changeBetween(lowMs: number, highMs: number): number;
}

const ZONES_KEPT = 200;
const zones = new Map<string, Zone>();

/** The zone of that name; an unknown one is UTC. */
export function zoneOf(name: string): Zone {
  const known = zones.get(name);
  if (known !== undefined) return known;
  const zone = createZone(formatOf(name));
  // Names come from callers, and any case of them is accepted.
  if (zones.size >= ZONES_KEPT) zones.clear();
  zones.set(name, zone);
  return zone;
}

function formatOf(name: string): Intl.DateTimeFormat {
  const options = {
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  } as const;
  // Intl takes offsets for zones as well; they are no IANA names and ClickHouse does not support them.
  const isName = /^[A-Za-z]/.test(name);
  try {
    return new Intl.DateTimeFormat('en-US', { ...options, timeZone: isName ? name : 'UTC' });
  } catch {
    return new Intl.DateTimeFormat('en-US', { ...options, timeZone: 'UTC' });
  }
}

function localTime(format: Intl.DateTimeFormat, instantMs: number): number {
  const seconds = Math.floor(instantMs / 1000);
  const field: Record<string, number> = {};
  let isBeforeChrist = false;
  for (const { type, value } of format.formatToParts(seconds * 1000)) {
    if (type === 'era') isBeforeChrist = value === 'BC';
    else field[type] = Number(value);
  }
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = field;
  const date = new Date(0);
  date.setUTCFullYear(isBeforeChrist ? 1 - year : year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  return date.getTime() + (instantMs - seconds * 1000);
}

function createZone(format: Intl.DateTimeFormat): Zone {
  const { timeZone: name } = format.resolvedOptions();
  const toLocal =
    name === 'UTC' ? (instantMs: number) => instantMs : (instantMs: number) => localTime(format, instantMs);
  const offsetAt = (instantMs: number) => toLocal(instantMs) - instantMs;

  /** The instants that show a local time, ascending: one, two when the clock was put back, none in a gap. */
  function instantsOf(localMs: number): { readonly found: readonly number[]; readonly afterGap: number } {
    const before = localMs - offsetAt(localMs - DAY_MS);
    const after = localMs - offsetAt(localMs + DAY_MS);
    const candidates = before === after ? [before] : [Math.min(before, after), Math.max(before, after)];
    return { found: candidates.filter((instant) => toLocal(instant) === localMs), afterGap: before };
  }

  function changeBetween(low: number, high: number): number {
    const offset = offsetAt(high);
    let [unchanged, changed] = [low, high];
    while (changed - unchanged > 1) {
      const middle = Math.floor((unchanged + changed) / 2);
      if (offsetAt(middle) === offset) changed = middle;
      else unchanged = middle;
    }
    return changed;
  }

  /** Instants at which the clock shows midnight, ascending; when it skips midnight, the one at which it does. */
  function midnights(midnightMs: number): readonly [number, ...number[]] {
    const { found, afterGap } = instantsOf(midnightMs);
    const [first, ...rest] = found;
    return first === undefined ? [changeBetween(afterGap - DAY_MS, afterGap)] : [first, ...rest];
  }

  return {
    name,
    toLocal,
    toInstant(localMs) {
      const { found, afterGap } = instantsOf(localMs);
      return found[0] ?? afterGap;
    },
    dayStart: (midnightMs) => midnights(midnightMs)[0],
    dayEnd(midnightMs) {
      const next = midnights(midnightMs + DAY_MS);
      // A clock put back over midnight shows the end of the day twice; one put back to midnight does not.
      const last = next.find((instant, index) => index > 0 && toLocal(instant - 1) < midnightMs + DAY_MS);
      return (last ?? next[0]) - 1;
    },
    changeBetween,
  };
}
