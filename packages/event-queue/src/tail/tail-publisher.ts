import { type EventTableKind, rowKey } from '@waymark/event-format';

/** How many ids a tail keeps at least. */
export const TAIL_IDS_MAX = 100_000;
/** Ids of one entry of a tail: what a reader gets or drops at a time. */
const ENTRY_IDS_MAX = 1000;

/** Ids of events of one workspace, to be appended to its tail. */
export interface TailAddition {
  /** The number of the workspace. */
  readonly workspace: string;
  readonly ids: readonly string[];
}

/** What an acknowledgement appends to tails. */
export interface Publication {
  /** Version of the list of tails by which the entries were chosen; empty: there were none. */
  readonly version: string;
  readonly kind: EventTableKind;
  readonly entries: readonly TailAddition[];
}

/**
 * Chooses the ids that an acknowledgement publishes, by a copy of the list of workspaces with subscribers. The acknowledgement compares
 * versions and does nothing if the list has changed, so a workspace's first subscription misses no event, and while nobody is
 * subscribed nothing is looked at or sent.
 */
export interface TailPublisher {
  /**
   * Calls `acknowledge` with the publication for the rows, and again after it has returned the fields of a changed list.
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

/** Create one for a writer; it begins without subscribers. */
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
