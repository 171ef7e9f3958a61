/** Work that waits for other work of the same names. */
export interface Turns {
  /** Runs `work` after all earlier works that have any of the names. @returns its result, or rejects as it does */
  run<T>(names: readonly string[], work: () => Promise<T>): Promise<T>;
}

/** Creates the turns of one process. */
export function createTurns(): Turns {
  /** The end of the last work of each name. */
  const lasts = new Map<string, Promise<void>>();

  return {
    async run(names, work) {
      const earlier = names.map((name) => lasts.get(name));
      let end: () => void = () => undefined;
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      // All at once, so that works with several names cannot wait for each other.
      for (const name of names) lasts.set(name, ended);
      await Promise.all(earlier);
      try {
        return await work();
      } finally {
        for (const name of names) if (lasts.get(name) === ended) lasts.delete(name);
        end();
      }
    },
  };
}
