import { setTimeout as delay } from 'node:timers/promises';
import { endChild } from '@waymark/config';
import { describeExit, type Launched } from './launch.js';

const BACKOFF_MS_MIN = 100;
const BACKOFF_MS_MAX = 5_000;
/** A child that has run this long is restarted with the shortest wait. */
const STEADY_AFTER_MS = 10_000;

/** How {@link keepRunning} starts a child. */
export interface ChildPlan {
  readonly name: string;
  /** Starts the process and resolves once it is ready. */
  readonly launch: (signal: AbortSignal) => Promise<Launched>;
  /** Aborts a start in progress; afterwards the child is not started again. */
  readonly signal: AbortSignal;
  /** Called after every restart. */
  readonly onRestart: () => void;
  /** Called with a line for the terminal when the child ends, and when it is started again or that fails. */
  readonly report: (line: string) => void;
  /** Milliseconds of any clock. */
  readonly now: () => number;
}

/** A child that is started again whenever it ends. */
export interface KeptChild {
  /** The running process; while it is being restarted, the one that ended. */
  readonly current: Launched;
  /** Sends SIGTERM and, after `deadlineMs`, SIGKILL. Resolves when the process has ended. */
  stop(deadlineMs: number): Promise<void>;
}

function hasEnded({ child }: Launched): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Starts a child and restarts it, with backoff, whenever it ends before `stop`. Rejects if the first start fails. */
export async function keepRunning(plan: ChildPlan): Promise<KeptChild> {
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, plan.signal]);
  let backoffMs = BACKOFF_MS_MIN;
  let startedMs = plan.now();
  let current = await plan.launch(signal);
  let restarting: Promise<void> = Promise.resolve();

  async function tryAgain(): Promise<boolean> {
    if (plan.now() - startedMs > STEADY_AFTER_MS) backoffMs = BACKOFF_MS_MIN;
    await delay(backoffMs, undefined, { signal }).catch(() => undefined);
    backoffMs = Math.min(backoffMs * 2, BACKOFF_MS_MAX);
    startedMs = plan.now();
    if (signal.aborted) return false;
    try {
      current = await plan.launch(signal);
      return true;
    } catch (err) {
      if (!signal.aborted) plan.report(err instanceof Error ? err.message : String(err));
      return false;
    }
  }

  async function restart(): Promise<void> {
    while (!signal.aborted) {
      if (await tryAgain()) {
        plan.report(`${plan.name} is back (process ${current.pid})`);
        plan.onRestart();
        watch();
        return;
      }
    }
  }

  function watch(): void {
    const { child } = current;
    const onExit = () => {
      if (signal.aborted) return;
      plan.report(`${plan.name} ended (${describeExit(child.exitCode, child.signalCode)}), starting it again`);
      restarting = restart();
    };
    if (hasEnded(current)) onExit();
    else child.once('exit', onExit);
  }

  watch();
  return {
    get current() {
      return current;
    },
    async stop(deadlineMs) {
      stopping.abort();
      await restarting;
      await endChild(current.child, deadlineMs);
    },
  };
}
