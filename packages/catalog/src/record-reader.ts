import { formatResourceId, parseResourceId } from '@waymark/contract';
import { type CatalogRecord, type Kind, type Name, nameKey, type Stored } from './kind.js';
import type { LocalNames, LocalRecords } from './local-cache.js';
import type { NamesTable } from './names-table.js';
import { parseData, type RecordTable } from './record-table.js';
import type { NameOwner, RedisCache } from './redis-cache.js';
import { type CatalogLogger, unavailable, within } from './unavailable.js';

const READ_MS_MAX = 5_000;
/** After a failure stale copies are served at once for this long: an outage costs the wait once a second, not once a request. */
const TROUBLE_MS = 1_000;

export interface ReaderParts<R extends CatalogRecord> {
  readonly kind: Kind<R>;
  readonly table: RecordTable<R>;
  readonly namesTable: NamesTable;
  readonly cache: RedisCache;
  readonly localRecords: LocalRecords<R>;
  readonly localNames: LocalNames;
  readonly logger: CatalogLogger;
  readonly now: () => number;
}

export interface ReadOptions {
  /** After this a stale copy is served, or an error. */
  readonly limitMs?: number;
}

/** Names compare by text: two records may not say the same one. */
export function saysName<R extends CatalogRecord>(kind: Kind<R>, record: R, name: Name): boolean {
  return kind.names(record).some((own) => own.name === name.name && own.kind === name.kind && own.scope === name.scope);
}

/**
 * Reads one kind: this process' copy, else Redis, else ClickHouse; one flight a record or name at a time. A copy that is past
 * its second still beats an error.
 */
export function createRecordReader<R extends CatalogRecord>(parts: ReaderParts<R>) {
  const { kind, table, namesTable, cache, localRecords, localNames, now } = parts;
  const flights = new Map<string, Promise<R | undefined>>();

  let troubleUntilMs = Number.NEGATIVE_INFINITY;

  const localKey = (workspaceId: string, id: string) => `${workspaceId}/${id}`;
  const isId = (id: string) => parseResourceId(kind.resource, id) !== undefined;

  function fly(key: string, start: () => Promise<R | undefined>): Promise<R | undefined> {
    const known = flights.get(key);
    if (known !== undefined) return known;
    const flight = start().finally(() => flights.delete(key));
    flights.set(key, flight);
    return flight;
  }

  /** Keeps what ClickHouse answered in both caches. */
  function keep(workspaceId: string, read: readonly Stored<R>[], startedMs: number): void {
    for (const stored of read) localRecords.put(localKey(workspaceId, stored.record.id), stored, startedMs);
    const fills = read.map(({ version, record }) => ({ id: record.id, version, data: JSON.stringify(record) }));
    void cache.fillRecords(kind.table, workspaceId, fills);
  }

  /** From Redis, the rest from ClickHouse. */
  async function load(workspaceId: string, ids: readonly string[]): Promise<Map<string, R>> {
    const startedMs = now();
    const found = new Map<string, R>();
    const cached = await cache.readRecords(kind.table, workspaceId, ids);
    ids.forEach((id, index) => {
      const entry = cached?.[index];
      if (entry?.data === undefined) return;
      const record = parseData(kind, entry.data);
      localRecords.put(localKey(workspaceId, id), { version: entry.version, record }, startedMs);
      found.set(id, record);
    });
    const missing = ids.filter((id) => !found.has(id));
    if (missing.length === 0) return found;
    const answers = await Promise.all(missing.map((id) => table.get(workspaceId, id)));
    const read = answers.filter((stored) => stored !== undefined);
    keep(workspaceId, read, startedMs);
    for (const { record } of read) found.set(record.id, record);
    for (const id of missing) if (!found.has(id)) localRecords.delete(localKey(workspaceId, id));
    return found;
  }

  async function get(workspaceId: string, id: string, options: ReadOptions = {}): Promise<R | undefined> {
    if (!isId(id)) return undefined;
    const key = localKey(workspaceId, id);
    const fresh = localRecords.fresh(key);
    if (fresh !== undefined) return fresh.record;
    const read = () => fly(key, async () => (await load(workspaceId, [id])).get(id));
    const stale = () => localRecords.stale(key)?.record;
    return readOr(stale, options.limitMs ?? READ_MS_MAX, `${kind.table} by id`, read);
  }

  /** What `read` finds, within its time; a copy past its second rather than an error. */
  async function readOr(stale: () => R | undefined, limitMs: number, what: string, read: () => Promise<R | undefined>) {
    if (now() < troubleUntilMs) {
      const copy = stale();
      if (copy !== undefined) return copy;
    }
    try {
      return await within(read(), limitMs, what);
    } catch (err) {
      return staleOr(err, stale());
    }
  }

  function staleOr(err: unknown, copy: R | undefined): R {
    if (copy === undefined) throw unavailable(`read of ${kind.table}`, err);
    if (now() >= troubleUntilMs)
      parts.logger.warn({ err, table: kind.table, id: copy.id }, 'catalog serves stale records');
    troubleUntilMs = now() + TROUBLE_MS;
    return copy;
  }

  /** The record that owns a name as the tables say it; several claims: the oldest id wins. */
  async function ownerInTables(name: Name): Promise<Stored<R> | undefined> {
    for (const claim of await namesTable.claims(name)) {
      const stored = await table.get(
        formatResourceId('workspace', claim.workspaceNumber),
        table.publicId(claim.number),
      );
      if (stored !== undefined && saysName(kind, stored.record, name)) return stored;
    }
    return undefined;
  }

  async function recordOf(owner: NameOwner, name: Name): Promise<R | undefined> {
    const record = await get(owner.workspaceId, owner.id);
    return record !== undefined && saysName(kind, record, name) ? record : undefined;
  }

  async function resolve(name: Name): Promise<R | undefined> {
    const key = nameKey(name);
    const startedMs = now();
    const seenHere = localNames.peek(key);
    const cached = await cache.readName(name);
    if (cached?.owner === 'nobody') {
      localNames.replace(key, seenHere, undefined, startedMs);
      return undefined;
    }
    if (cached?.owner !== undefined) {
      const record = await recordOf(cached.owner, name);
      if (record !== undefined) {
        localNames.replace(key, seenHere, cached.owner, startedMs);
        return record;
      }
    }
    const stored = await ownerInTables(name);
    const owner = stored && { workspaceId: stored.record.workspaceId, id: stored.record.id };
    if (stored !== undefined) keep(stored.record.workspaceId, [stored], startedMs);
    else if (kind.isQueued) return undefined;
    localNames.replace(key, seenHere, owner, startedMs);
    if (cached !== undefined) void cache.fillName(name, cached.seen, owner);
    return stored?.record;
  }

  /** @param options.limitMs covers the whole look-up */
  async function findByName(name: Name, options: ReadOptions = {}): Promise<R | undefined> {
    const key = nameKey(name);
    const known = localNames.fresh(key);
    if (known !== undefined && known.owner === undefined) return undefined;
    if (known?.owner !== undefined) {
      const fresh = localRecords.fresh(localKey(known.owner.workspaceId, known.owner.id));
      if (fresh !== undefined && saysName(kind, fresh.record, name)) return fresh.record;
    }
    const read = () => fly(key, () => resolve(name));
    return readOr(() => staleByName(name), options.limitMs ?? READ_MS_MAX, `${kind.table} by name`, read);
  }

  function staleByName(name: Name): R | undefined {
    const owner = localNames.peek(nameKey(name))?.owner;
    if (owner === undefined) return undefined;
    const record = localRecords.stale(localKey(owner.workspaceId, owner.id))?.record;
    return record !== undefined && saysName(kind, record, name) ? record : undefined;
  }

  async function getMany(workspaceId: string, ids: readonly string[]): Promise<Map<string, R>> {
    const found = new Map<string, R>();
    for (const id of ids) {
      const fresh = localRecords.fresh(localKey(workspaceId, id));
      if (fresh !== undefined) found.set(id, fresh.record);
    }
    const missing = [...new Set(ids)].filter((id) => !found.has(id) && isId(id));
    if (missing.length === 0) return found;
    try {
      const loaded = await within(load(workspaceId, missing), READ_MS_MAX, `${kind.table} by ids`);
      for (const [id, record] of loaded) found.set(id, record);
    } catch (err) {
      for (const id of missing) found.set(id, staleOr(err, localRecords.stale(localKey(workspaceId, id))?.record));
    }
    return found;
  }

  return { get, getMany, findByName, ownerInTables };
}
export type RecordReader<R extends CatalogRecord> = ReturnType<typeof createRecordReader<R>>;
