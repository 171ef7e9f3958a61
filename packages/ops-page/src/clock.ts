const DAY_SECONDS = 86_400;
const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const TIME_WITH_SECONDS = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** `14:05:07`, in the browser's time zone, with its day if that is not today. @param at milliseconds since 1970 */
export function timeText(at: number, now: number = Date.now()): string {
  return DAY.format(at) === DAY.format(now) ? TIME_WITH_SECONDS.format(at) : momentText(at / 1000);
}

/** The label of a tick of a time axis; at midnight, the day. @param at seconds since 1970 @param step seconds between ticks */
export function tickText(at: number, step: number): string {
  const date = new Date(at * 1000);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  return step >= DAY_SECONDS || isMidnight ? DAY.format(date) : TIME.format(date);
}

/** A time with its day: `4 Mar, 14:05:07`. @param at seconds since 1970 */
export function momentText(at: number): string {
  const date = new Date(at * 1000);
  return `${DAY.format(date)}, ${TIME_WITH_SECONDS.format(date)}`;
}

const STEPS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const;

/** An age in its largest unit: `8 s`, `3 min`, `2 h`, `5 d`. */
export function ageText(seconds: number): string {
  const age = Math.max(0, Math.floor(seconds));
  const [size, name] = STEPS.find(([length]) => age >= length) ?? [1, 's'];
  return `${Math.floor(age / size)} ${name}`;
}
