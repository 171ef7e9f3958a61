import { type EventTableKind, rowKey } from '@waymark/event-format';

/** How many of the last ids a tail keeps at least. */
export const TAIL_IDS_MAX = 100_000;
/** Limit on the ids of one entry of a tail. Readers get whole entries. */
const ENTRY_IDS_MAX = 1000;

/** Ids of events of one workspace, to be appended to its tail. */
export interface TailAddition {
  /** The number of the workspace. */
  readonly workspace: string;
  readonly ids: readonly string[];
}

/** What an acknowledgement appends to tails. */
export interface Publication {
  /** Version of the list of tails by which the entries were chosen; `''` before any list was read. */
  readonly version: string;
  readonly kind: EventTableKind;
  readonly entries: readonly TailAddition[];
}

/**
 * Chooses the ids that an acknowledgement publishes: those of workspaces in a copy of the list of tails. If the list has changed since it
 * was copied, the acknowledgement does nothing and returns the new list. So the first stream of a workspace misses no event. Without
 * streams, rows are not looked at, and no ids are sent.
 */
export interface TailPublisher {
  /**
   * Calls `acknowledge` with the publication for the rows. If that returns the fields of a changed list, copies the list and calls it again.
   *
   * @param rows JSON arrays, in the order of the insert
   */
  publish(
    kind: EventTableKind,
    rows: readonly string[],
    acknowledge: (publication: Publication) => Promise<readonly string[] | undefined>,
  ): Promise<void>;
}

function additionsOf(rows: readonly string[], workspaces: ReadonlySet<string>): TailAddition[] {
  if (workspaces.size === 0) return [];
  const additions: { workspace: string; ids: string[] }[] = [];
  /** The last addition of each workspace. */
  const open = new Map<string, string[]>();
  for (const row of rows) {
    const key = rowKey(row);
    if (key === undefined || !workspaces.has(key.workspaceId)) continue;
    let ids = open.get(key.workspaceId);
    if (ids === undefined || ids.length === ENTRY_IDS_MAX) {
      ids = [];
      open.set(key.workspaceId, ids);
      additions.push({ workspace: key.workspaceId, ids });
    }
    ids.push(key.eventId);
  }
  return additions;
}

/** Creates the publisher of a writer. Its copy of the list of tails is empty at first. */
export function createTailPublisher(): TailPublisher {
  let version = '';
  let workspaces: ReadonlySet<string> = new Set();

  /** @param fields names and values in turn, as HGETALL returns them */
  function update(fields: readonly string[]): void {
    const list = new Map<string, string>();
    for (let at = 0; at < fields.length; at += 2) list.set(fields[at] ?? '', fields[at + 1] ?? '');
    version = list.get('version') ?? '';
    list.delete('version');
    workspaces = new Set(list.keys());
  }

  return {
    async publish(kind, rows, acknowledge) {
      for (;;) {
        const changed = await acknowledge({ version, kind, entries: additionsOf(rows, workspaces) });
        if (changed === undefined) return;
        update(changed);
      }
    },
  };
}
