import { type KeptChild, keepRunning } from './keep-running.js';
import type { Launched } from './launch.js';

export interface ChildrenOptions {
  readonly report: (line: string) => void;
  /** Gives up starts that are not through. */
  readonly signal: AbortSignal;
  /** A child was started, for the first time or again. */
  readonly onStart: () => void;
}

/** The children of one start by name, in the order they were started. */
export class Children {
  readonly #kept = new Map<string, { readonly child: KeptChild; readonly stopMs: number }>();
  readonly #options: ChildrenOptions;

  constructor(options: ChildrenOptions) {
    this.#options = options;
  }

  /** Starts a child that is kept running until `stop`, which then gives it `stopMs`. */
  async start(name: string, stopMs: number, launch: (signal: AbortSignal) => Promise<Launched>): Promise<void> {
    const { report, signal, onStart } = this.#options;
    const child = await keepRunning({ name, launch, signal, onRestart: onStart, report, now: Date.now });
    this.#kept.set(name, { child, stopMs });
    onStart();
  }

  pid(name: string): number | undefined {
    return this.#kept.get(name)?.child.current.pid;
  }

  pids(): number[] {
    return [...this.#kept.values()].map(({ child }) => child.current.pid);
  }

  /** The last started stops first. */
  async stop(): Promise<void> {
    for (const [name, { child, stopMs }] of [...this.#kept].reverse()) {
      await child.stop(stopMs);
      this.#options.report(`${name} stopped`);
    }
  }
}
