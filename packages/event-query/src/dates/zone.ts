import { DAY_MS } from './calendar.js';

/**
 * Converts between instants and local times of an IANA time zone, with the help of Intl, and finds the start and end of local days,
 * also around changes of daylight saving. A local time is represented by the epoch milliseconds of the same date and time in UTC.
 */
export interface Zone {
  /** Canonical name. */
  readonly name: string;
  toLocal(instantMs: number): number;
  /** The instant of a local time. The earlier one if the time occurs twice; a time in a gap is moved forward by the length of the gap. */
  toInstant(localMs: number): number;
  /** First instant of the local day that begins at `midnightMs`. */
  dayStart(midnightMs: number): number;
  /** Last instant of the local day that begins at `midnightMs`; before its start if the zone skipped that day. */
  dayEnd(midnightMs: number): number;
  /** The instant in (low, high] at which the UTC offset changes to the one at `high`. The offset at `low` must differ. */
  changeBetween(lowMs: number, highMs: number): number;
}

const ZONES_MAX = 200;
const zones = new Map<string, Zone>();

/** The time zone with the given name, cached; UTC for an unknown name. */
export function zoneOf(name: string): Zone {
  const cached = zones.get(name);
  if (cached !== undefined) return cached;
  const zone = createZone(formatOf(name));
  // Bound the cache: names come from requests, in any case, so there can be many spellings of each.
  if (zones.size >= ZONES_MAX) zones.clear();
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
  // Intl also accepts UTC offsets; they are not IANA names, and ClickHouse does not support them as zones.
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

  /** The instants with a local time, ascending: usually one, two when the clock is set back, none in a gap. */
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

  /** The instants with local time midnight, ascending; if the clock skips midnight, the instant of the change. */
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
      // A clock that is set back across midnight repeats the end of the day; one that is set back to midnight does not.
      const last = next.find((instant, index) => index > 0 && toLocal(instant - 1) < midnightMs + DAY_MS);
      return (last ?? next[0]) - 1;
    },
    changeBetween,
  };
}
