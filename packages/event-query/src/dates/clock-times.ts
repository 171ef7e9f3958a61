const HOUR_MS = 3_600_000;

/** The hours for names of parts of the day. `midnight` is missing: it could be the start or the end of a day. */
const PARTS_OF_DAY: Readonly<Record<string, number>> = { morning: 6, noon: 12, afternoon: 15, evening: 20, night: 22 };

const CLOCK =
  String.raw`(?:(?<hour12>1[0-2]|0?\d)(?::(?<minute12>[0-5]\d)(?::(?<second12>[0-5]\d))?)? ?(?<half>[ap])\.?m\.?` +
  String.raw`|(?<hour>[01]?\d|2[0-3]):(?<minute>[0-5]\d)(?::(?<second>[0-5]\d))?|(?:in the )?(?<part>morning|noon|afternoon|evening|night))`;
const ALONE = new RegExp(`^(?:at )?${CLOCK}$`);
const LAST = new RegExp(`^(?<day>.+?)(?:,? at|,)? ${CLOCK}$`);
const FIRST = new RegExp(`^(?:at )?${CLOCK}(?:,? on|,)? (?<day>.+)$`);
const OF_TODAY = /^this (?=morning|afternoon|evening)/;

/** UTC offsets in minutes of unambiguous zone abbreviations (`ist`, `bst` and `ast` each have several meanings). */
const OFFSETS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    utc: 0,
    gmt: 0,
    z: 0,
    wet: 0,
    west: 60,
    cet: 60,
    cest: 120,
    eet: 120,
    eest: 180,
    est: -300,
    edt: -240,
    cst: -360,
    cdt: -300,
    mst: -420,
    mdt: -360,
    pst: -480,
    pdt: -420,
  }),
);

/** UTC offset in minutes of a zone abbreviation in lower case. */
export const zoneOffset = (name: string): number | undefined => OFFSETS.get(name);

const ZONED = /^(?<rest>.+) (?<name>[a-z]+)$/;

/** A phrase split into the words for a day and a time of day. */
export interface TimedPhrase {
  readonly day: string;
  /** UTC offset of the time in minutes; undefined = the zone of the request applies. */
  readonly offsetMinutes?: number | undefined;
  /** Milliseconds after midnight. */
  readonly timeMs: number;
}

function timeOf(groups: Readonly<Record<string, string | undefined>>): number {
  const { hour12, half, hour = '0', part } = groups;
  if (part !== undefined) return (PARTS_OF_DAY[part] ?? 0) * HOUR_MS;
  const minute = Number(groups.minute12 ?? groups.minute ?? 0);
  const second = Number(groups.second12 ?? groups.second ?? 0);
  const hours = hour12 === undefined ? Number(hour) : (Number(hour12) % 12) + (half === 'p' ? 12 : 0);
  return hours * HOUR_MS + minute * 60_000 + second * 1000;
}

/** Replaces expressions such as `tonight` by a day and a part of the day. */
function expandPartOfDay(phrase: string): string {
  if (phrase === 'tonight') return 'today night';
  if (phrase === 'last night') return 'yesterday night';
  return phrase.replace(OF_TODAY, 'today ');
}

/**
 * Splits a time of day off either end of a phrase: `friday at 5pm`, `17:30 yesterday`, `tonight`. `5pm` alone means today. Undefined
 * when the phrase has no time of day, or only a bare number.
 *
 * @param phrase in lower case, with single spaces
 */
export function splitTime(phrase: string): TimedPhrase | undefined {
  const { rest = '', name = '' } = ZONED.exec(phrase)?.groups ?? {};
  const offsetMinutes = zoneOffset(name);
  if (offsetMinutes === undefined) return splitClock(phrase);
  const timed = splitClock(rest);
  return timed && { ...timed, offsetMinutes };
}

function splitClock(phrase: string): TimedPhrase | undefined {
  const whole = expandPartOfDay(phrase);
  const alone = ALONE.exec(whole)?.groups;
  if (alone !== undefined) return { day: 'today', timeMs: timeOf(alone) };
  const groups = LAST.exec(whole)?.groups ?? FIRST.exec(whole)?.groups;
  return groups === undefined ? undefined : { day: groups.day ?? '', timeMs: timeOf(groups) };
}
