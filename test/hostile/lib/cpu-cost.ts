import vm from 'node:vm';
import { type Attack, attacksOn, attackText } from './attack-strings.js';

/** The cost of an attack. */
export interface Cost {
  readonly attack: Attack;
  /** CPU time of this process; the limit of a run when it was stopped. */
  readonly cpuMs: number;
}

const WHOLE_CHARS = 100_000;
/** Enough to distinguish quadratic from linear time quickly: 3,000 repetitions take 5 million steps or a few thousand. */
const SCREENED_REPETITIONS = 3_000;
const SCREENED_CHARS_MAX = 48_000;
const SUSPICIOUS_MS = 1;
const RUN_MS_MAX = 200;
/** Several runs, because single ones include garbage collection and compilation. */
const RUNS_MAX = 10;

/** Only code run through `vm` can be stopped by a time-out. */
const script = new vm.Script('run()');

/** Runs a function with a time-out. @returns whether it ended before the time-out */
function endsInTime(run: () => void, limitMs: number): boolean {
  try {
    script.runInContext(vm.createContext({ run }), { timeout: limitMs });
    return true;
  } catch (err) {
    if ((err as { readonly code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    throw err;
  }
}

/** Applies an expression like `replace` and `matchAll` if it is global, else like `test` and `exec`. */
function match(expression: RegExp, text: string): void {
  expression.lastIndex = 0;
  if (expression.global) text.replace(expression, '');
  else expression.exec(text);
}

/** The first attack, from `start` on, that needs a run of full length; undefined when none does. */
function suspiciousFrom(expression: RegExp, attacks: readonly Attack[], start: number): number | undefined {
  let next = start;
  let isFound = false;
  const screen = () => {
    for (; next < attacks.length; next++) {
      const attack = attacks[next] as Attack;
      const text = attackText(attack, Math.min(SCREENED_REPETITIONS * attack.pump.length, SCREENED_CHARS_MAX));
      const isSlow = () => {
        const startedMs = performance.now();
        match(expression, text);
        return performance.now() - startedMs > SUSPICIOUS_MS;
      };
      // Retry, because another process may have used the CPU the first time.
      isFound = isSlow() && isSlow();
      if (isFound) return;
    }
  };
  // Thousands of attacks take a while even when none is slow.
  const isStopped = !endsInTime(screen, RUN_MS_MAX + attacks.length);
  return isFound || isStopped ? next : undefined;
}

/**
 * CPU time of the fastest of several runs, in milliseconds. Stops at the first run within `enoughMs`. The minimum excludes what slows
 * down single runs, such as garbage collection or other processes.
 */
export function cpuMsOf(run: () => void, enoughMs: number): number {
  let cheapestMs = RUN_MS_MAX;
  let spentMs = 0;
  for (let runs = 0; runs < RUNS_MAX && spentMs < RUN_MS_MAX / 2 && cheapestMs > enoughMs; runs++) {
    const before = process.cpuUsage();
    const hasEnded = endsInTime(run, RUN_MS_MAX);
    const { user, system } = process.cpuUsage(before);
    const cpuMs = (user + system) / 1000;
    spentMs += cpuMs;
    // A run that was stopped only gives a lower bound.
    if (hasEnded) cheapestMs = Math.min(cheapestMs, cpuMs);
  }
  return cheapestMs;
}

/** The first attack of 100,000 characters on an expression that takes more than `cpuMsMax`; undefined when none does. */
export function slowAttack(expression: RegExp, cpuMsMax: number): Cost | undefined {
  const attacks = attacksOn(expression);
  let next = suspiciousFrom(expression, attacks, 0);
  while (next !== undefined) {
    const attack = attacks[next] as Attack;
    const text = attackText(attack, WHOLE_CHARS);
    const cpuMs = cpuMsOf(() => match(expression, text), cpuMsMax);
    if (cpuMs > cpuMsMax) return { attack, cpuMs };
    next = suspiciousFrom(expression, attacks, next + 1);
  }
  return undefined;
}
