import { randomUUID } from 'node:crypto';
import type { EventTableKind } from '@waymark/event-format';
import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { openStreamsKey, TAILS_KEY, tailKey } from '../queue/keys.js';
import { OPEN_STREAM } from './tail-scripts.js';

/** How long a tail is continued after the last lease of a stream of its workspace was renewed. */
const KEPT_MS = 3_600_000;
/** How long a stream of a killed process counts as open. */
const LEASE_MS = 60_000;
/** Entries that one read returns, each of up to a thousand ids. */
export const TAIL_ENTRIES_MAX = 50;

/** A position in the tail of a workspace: after the event with that number. A tail that is begun anew has another epoch. */
export interface TailPosition {
  readonly epoch: number;
  /** The number of events that the tail has had up to here. */
  readonly number: number;
}

/** Events of one kind that were stored together. */
export interface TailEntry {
  readonly kind: EventTableKind;
  /** The position before its first event. */
  readonly start: TailPosition;
  /** The position after its last event. */
  readonly end: TailPosition;
  readonly ids: readonly string[];
}

/** An open stream of a workspace. */
export interface OpenStream {
  /** Number of the workspace. */
  readonly workspace: string;
  /** Unique. It begins with the id of the API key and a colon. */
  readonly name: string;
}

/** Limits on the open streams of an API key and of a workspace. */
export interface StreamLimits {
  readonly perKey: number;
  readonly perWorkspace: number;
}

/** Opens streams, for whose workspaces writers then keep tails, and reads the tails. All methods reject with the error of Redis or the connection. */
export interface Tails {
  /**
   * Opens a stream. Every event that is acknowledged after this is in the workspace's tail, after the position that this returns.
   *
   * @returns the end of the tail; `key` or `workspace` when the limit of that is reached, so that no stream was opened
   */
  open(stream: OpenStream, limits: StreamLimits): Promise<TailPosition | 'key' | 'workspace'>;
  /** Keeps a stream open for another minute, and its tail for another hour. @returns the end of the tail */
  renew(stream: OpenStream): Promise<TailPosition>;
  close(stream: OpenStream): Promise<void>;
  /**
   * Reads the entries that end after the positions, by workspace; workspaces without such entries are absent.
   *
   * @param entriesMax maximum number of entries of a workspace, {@link TAIL_ENTRIES_MAX} by default
   */
  read(
    after: ReadonlyMap<string, TailPosition>,
    entriesMax?: number,
  ): Promise<ReadonlyMap<string, readonly TailEntry[]>>;
}

interface TailScripts {
  waymarkOpenStream(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<string>;
}

const POSITION = /^(\d{1,15})-(\d{1,15})$/;

/** The text of a position, which is also the id of its entry in Redis. */
export function formatTailPosition({ epoch, number }: TailPosition): string {
  return `${epoch}-${number}`;
}

/** Parses the text of a position; undefined for another text. */
export function parseTailPosition(text: string): TailPosition | undefined {
  const match = POSITION.exec(text);
  return match === null ? undefined : { epoch: Number(match[1]), number: Number(match[2]) };
}

function positionOf(entryId: string): TailPosition {
  const position = parseTailPosition(entryId);
  if (position === undefined) throw new Error('an entry of a tail has an id of another form');
  return position;
}

function entryOf(id: string, fields: readonly string[]): TailEntry[] {
  const [, kind, , ids = ''] = fields;
  // The entry with which a tail begins has no events.
  if (ids === '') return [];
  const end = positionOf(id);
  const list = ids.split(' ');
  return [{ kind: kind as EventTableKind, start: { ...end, number: end.number - list.length }, end, ids: list }];
}

/**
 * @param redis a connection that nothing else uses: a read that found entries waits on it until the replicas have them
 * @param replication of that connection. Entries that a failover could undo are not returned, because other events would get their numbers
 */
export function createTails(redis: Redis, replication: Replication): Tails {
  redis.defineCommand('waymarkOpenStream', { lua: OPEN_STREAM });
  const scripts = redis as Redis & TailScripts;

  /** Opens a stream, or renews its lease if `perWorkspace` is 0. @returns the answer of {@link OPEN_STREAM} */
  function openOrRenew({ workspace, name }: OpenStream, { perKey, perWorkspace }: StreamLimits): Promise<string> {
    const keys = [TAILS_KEY, tailKey(workspace), openStreamsKey(workspace)];
    const ofKey = name.slice(0, name.indexOf(':') + 1);
    return replication.confirmed(() =>
      scripts.waymarkOpenStream(
        keys.length,
        ...[...keys, workspace, randomUUID(), KEPT_MS, LEASE_MS, name, ofKey, perKey, perWorkspace],
      ),
    );
  }

  return {
    async open(stream, limits) {
      const answer = await openOrRenew(stream, limits);
      return answer === 'key' || answer === 'workspace' ? answer : positionOf(answer);
    },

    async renew(stream) {
      return positionOf(await openOrRenew(stream, { perKey: 0, perWorkspace: 0 }));
    },

    async close({ workspace, name }) {
      await redis.zrem(openStreamsKey(workspace), name);
    },

    async read(after, entriesMax = TAIL_ENTRIES_MAX) {
      const workspaces = new Map([...after.keys()].map((workspace) => [tailKey(workspace), workspace]));
      const from = [...after.values()].map(formatTailPosition);
      const found = await replication.confirmed(
        () => redis.xread('COUNT', entriesMax, 'STREAMS', ...workspaces.keys(), ...from),
        (answer) => answer !== null,
      );
      return new Map(
        (found ?? []).map(([key, entries]) => [
          workspaces.get(key) ?? '',
          entries.flatMap(([id, fields]) => entryOf(id, fields)),
        ]),
      );
    },
  };
}
