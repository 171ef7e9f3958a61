import vm from 'node:vm';
import { type Attack, attacksOn, attackText } from './attack-strings.js';

/** What an attack took. */
export interface Cost {
  readonly attack: Attack;
  /** CPU time of this process; the limit of a run when it was stopped. */
  readonly cpuMs: number;
}

const WHOLE_CHARS = 100_000;
/** Enough to tell quadratic from linear time in a moment: 3,000 repetitions are 5 million steps or a few thousand. */
const SCREENED_REPETITIONS = 3_000;
const SCREENED_CHARS_MAX = 48_000;
const SUSPICIOUS_MS = 1;
const RUN_MS_MAX = 2_000;
/** Garbage collection and compilation count as well: what repeats is the expression's. */
const RUNS_MAX = 10;

/** Expressions that are stopped in time can only be run in here. */
const script = new vm.Script('run()');

/** Runs it, and stops it after a time. @returns whether it ended by itself */
function ends(run: () => void, limitMs: number): boolean {
  try {
    script.runInContext(vm.createContext({ run }), { timeout: limitMs });
    return true;
  } catch (err) {
    if ((err as { readonly code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    throw err;
  }
}

/** As `replace` and `matchAll` do with a global expression, and `test` and `exec` with others. */
function match(expression: RegExp, text: string): void {
  expression.lastIndex = 0;
  if (expression.global) text.replace(expression, '');
  else expression.exec(text);
}

/** The first attack from that place on that is worth a run of full length; undefined when none is. */
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
      // Another process may have had the processor the first time.
      isFound = isSlow() && isSlow();
      if (isFound) return;
    }
  };
  // Thousands of attacks take their time even when none is slow.
  const isStopped = !ends(screen, RUN_MS_MAX + attacks.length);
  return isFound || isStopped ? next : undefined;
}

/**
 * CPU time of the cheapest of several runs, in milliseconds. One that takes no more than `enoughMs` is the last: what slows a
 * run down for once, as a collection of garbage or a neighbour in the processor's caches does, does not slow down all of them.
 */
export function cpuMsOf(run: () => void, enoughMs: number): number {
  let cheapestMs = RUN_MS_MAX;
  let spentMs = 0;
  for (let runs = 0; runs < RUNS_MAX && spentMs < RUN_MS_MAX / 2 && cheapestMs > enoughMs; runs++) {
    const before = process.cpuUsage();
    const hasEnded = ends(run, RUN_MS_MAX);
    const { user, system } = process.cpuUsage(before);
    const cpuMs = (user + system) / 1000;
    spentMs += cpuMs;
    // One that was stopped says nothing but what it took until then: others may have had the processor.
    if (hasEnded) cheapestMs = Math.min(cheapestMs, cpuMs);
  }
  return cheapestMs;
}

/** The first attack of 100,000 characters on an expression that takes longer than that; undefined when none does. */
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
