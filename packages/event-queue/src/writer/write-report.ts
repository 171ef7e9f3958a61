import { type QueueKind, rowKey } from '@waymark/event-format';

/** What a workspace had in a group; times from an event to its being stored, milliseconds. */
export interface WorkspaceShare {
  events: number;
  lagMsMin: number;
  lagMsMax: number;
}

/** A group that a writer has stored, for operators. */
export interface StoredGroup {
  readonly kind: QueueKind;
  /** `retried`: after errors of ClickHouse; `bisected`: in parts, as rows were refused; `parked`: some were given up. */
  readonly outcome: 'stored' | 'retried' | 'bisected' | 'parked';
  readonly rows: number;
  readonly bytes: number;
  /** Inserts it took. */
  readonly attempts: number;
  /** How long its first job waited for the others; 0 for a group that someone else had begun. */
  readonly gatherMs: number;
  /** First attempt to last answer. */
  readonly insertMs: number;
  /** Epoch milliseconds. */
  readonly storedAt: number;
  /** By workspace; none for customers. */
  readonly workspaces: ReadonlyMap<string, WorkspaceShare>;
}

/** What became of the rows of a group. */
export interface Inserted {
  readonly attempts: number;
  readonly isSplit: boolean;
  readonly parked: number;
}

export function outcomeOf({ attempts, isSplit, parked }: Inserted): StoredGroup['outcome'] {
  if (parked > 0) return 'parked';
  if (isSplit) return 'bisected';
  return attempts > 1 ? 'retried' : 'stored';
}

/** Who had how many of these rows, and how old they were at `storedAt`. */
export function workspaceShares(rows: readonly string[], storedAt: number): Map<string, WorkspaceShare> {
  const shares = new Map<string, WorkspaceShare>();
  for (const row of rows) {
    const key = rowKey(row);
    if (key === undefined) continue;
    const lagMs = storedAt - key.timestampMs;
    const share = shares.get(key.workspaceId);
    if (share === undefined) {
      shares.set(key.workspaceId, { events: 1, lagMsMin: lagMs, lagMsMax: lagMs });
      continue;
    }
    share.events += 1;
    if (lagMs < share.lagMsMin) share.lagMsMin = lagMs;
    if (lagMs > share.lagMsMax) share.lagMsMax = lagMs;
  }
  return shares;
}
