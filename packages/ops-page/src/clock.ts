const DAY_SECONDS = 86_400;
const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const TIME_WITH_SECONDS = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** `14:05`, in the browser's zone. @param at milliseconds since 1970 */
export function timeText(at: number): string {
  return TIME_WITH_SECONDS.format(at);
}

/** A tick of a time axis; midnights name their day. @param at seconds since 1970 @param step to the next tick, in seconds */
export function tickText(at: number, step: number): string {
  const date = new Date(at * 1000);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  return step >= DAY_SECONDS || isMidnight ? DAY.format(date) : TIME.format(date);
}

/** A moment of a plot in words. @param at seconds since 1970 */
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

/** `8 s`, `3 min`, `2 h`, `5 d`: how long ago something was. */
export function ageText(seconds: number): string {
  const age = Math.max(0, Math.floor(seconds));
  const [size, name] = STEPS.find(([length]) => age >= length) ?? [1, 's'];
  return `${Math.floor(age / size)} ${name}`;
}
