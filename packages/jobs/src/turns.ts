/** The order in which workspaces take turns, in one process: the one whose last turn is the longest ago comes first. */
export interface Turns {
  /** Number of the last turn of a workspace, or of anything else that takes turns; 0 when it has had none. The lowest number comes first. */
  last(id: string): number;
  /** Gives each of these ids the latest turn. */
  take(...ids: readonly string[]): void;
  /** Removes all turns. Call it when nothing waits, because ids are kept until then. */
  clear(): void;
}

/** Creates the turns of one process. */
export function createTurns(): Turns {
  const turns = new Map<string, number>();
  let latest = 0;
  return {
    last: (id) => turns.get(id) ?? 0,
    take(...ids) {
      latest += 1;
      for (const id of ids) turns.set(id, latest);
    },
    clear: () => turns.clear(),
  };
}
