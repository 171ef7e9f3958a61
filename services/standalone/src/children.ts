import { type KeptChild, keepRunning } from './keep-running.js';
import type { Launched } from './launch.js';

/** Options of {@link Children}. */
export interface ChildrenOptions {
  /** Called with lines for the terminal. */
  readonly report: (line: string) => void;
  /** Aborts starts in progress; afterwards no child is started again. */
  readonly signal: AbortSignal;
  /** Called after each start of a child. */
  readonly onStart: () => void;
  /** Called after each restart of a child. It must not throw. */
  readonly onRestart: () => void;
}

/** The child processes of the supervisor by name, in the order in which they were started. */
export class Children {
  readonly #kept = new Map<string, { readonly child: KeptChild; readonly stopMs: number }>();
  readonly #options: ChildrenOptions;

  constructor(options: ChildrenOptions) {
    this.#options = options;
  }

  /** Starts a child and keeps it running until `stop`, which kills it if it has not ended after `stopMs`. */
  async start(name: string, stopMs: number, launch: (signal: AbortSignal) => Promise<Launched>): Promise<void> {
    const { report, signal, onStart, onRestart } = this.#options;
    const child = await keepRunning({ name, launch, signal, onRestart, report, now: Date.now });
    this.#kept.set(name, { child, stopMs });
    onStart();
  }

  /** The pid of a child; undefined before its first start. */
  pid(name: string): number | undefined {
    return this.#kept.get(name)?.child.current.pid;
  }

  /** The pids of all children. */
  pids(): number[] {
    return [...this.#kept.values()].map(({ child }) => child.current.pid);
  }

  /** Stops the children one after the other, the last started first. @param beforeStop called before each */
  async stop(beforeStop?: (name: string) => Promise<void>): Promise<void> {
    for (const [name, { child, stopMs }] of [...this.#kept].reverse()) {
      await beforeStop?.(name);
      await child.stop(stopMs);
      this.#options.report(`${name} stopped`);
    }
  }
}
