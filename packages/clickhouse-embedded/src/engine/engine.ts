import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { sharedRuns } from '../shared-runs.js';
import { ConnectionPool } from './connection-pool.js';
import { asDatabaseException, exceptions } from './database-exception.js';
import { findExternalAccess, mayAccessExternal } from './external-access.js';
import { FAILED_WRITES, hasFailedWrites } from './failed-writes.js';
import type { NativeConnection, NativeEngine } from './native.js';
import { selfContainedInsert } from './plain-insert.js';
import { takeCounts, UNKNOWN_COUNTS, withCounts } from './read-counts.js';
import { selfContained } from './self-contained.js';
import { RESERVED_SLOTS, Slots } from './slots.js';
import { isReadOnly, leadingKeyword, mayContainSeveral, stringLiteral } from './sql-text.js';
import {
  checkParameterNames,
  connectionSetup,
  readerSetup,
  STATEMENT_ID_SETTING,
  type Statement,
  type StatementResult,
  writerSetup,
} from './statement.js';

/** Options of {@link Engine}. */
export interface EngineOptions {
  /** Directory of the data; the engine locks it until the process ends. */
  readonly dataDir: string;
  /** Command-line arguments of `clickhouse local`. */
  readonly args: readonly string[];
  /**
   * Limit on concurrent statements with an owner; those without one have `RESERVED_SLOTS` more. Each needs a thread of libuv's pool.
   */
  readonly concurrency: number;
  /** Also runs statements that access files, programs or other servers. Only for servers of tests. */
  readonly isUnchecked?: boolean;
  /** Called when no connection can be opened any more: the process should end. */
  readonly onBroken: (err: unknown) => void;
  /** Called when a write to a file has failed: the process must be killed before it answers anything. See failed-writes.ts. */
  readonly onFailedWrite: () => void;
}

const NO_DATA = Buffer.alloc(0);
const KILL_AGAIN_MS = 100;

/**
 * chDB on one data directory. Settings, parameters, `USE` and temporary tables belong to a connection, and must not leak into the
 * next statement: a leaked `insert_deduplication_token` would silently drop an insert. So a statement runs on a new connection,
 * unless it is a read or an insert that has its parameters and settings in its own text (self-contained.ts, plain-insert.ts). Those
 * share connections, because a new one, with its settings, doubles the cost of a short read and adds a fifth to that of a short
 * insert.
 */
export class Engine {
  readonly #native: NativeEngine;
  readonly #options: EngineOptions;
  readonly #slots: Slots;
  /** Keeps the engine open while no statement runs. */
  readonly #anchor: NativeConnection;
  readonly #readers: ConnectionPool;
  readonly #writers: ConnectionPool;
  readonly #findFailedWrites = sharedRuns(() => this.#countFailedWrites());
  #running = 0;
  #whenIdle: (() => void) | undefined;

  constructor(native: NativeEngine, options: EngineOptions) {
    this.#native = native;
    this.#options = options;
    this.#slots = new Slots(options.concurrency);
    this.#anchor = native.CreateConnection(options.dataDir, options.args);
    this.#readers = this.#poolOf(readerSetup);
    this.#writers = this.#poolOf(writerSetup);
  }

  /**
   * Runs a statement. When `signal` is aborted, a waiting statement is dropped and a running read is killed; a running write
   * continues, as on a ClickHouse server.
   *
   * @throws DatabaseException
   */
  async run(statement: Statement, signal: AbortSignal): Promise<StatementResult> {
    const release = await this.#slots.take(signal, statement.owner);
    try {
      return await this.#counted(async () => {
        const result = await this.#runInSlot(statement, signal);
        if (!isReadOnly(statement.sql)) await this.#findFailedWrites();
        return result;
      });
    } catch (err) {
      throw asDatabaseException(err);
    } finally {
      release();
    }
  }

  /** Calls `onFailedWrite` if a write of a merge, or of anything else in the background, has failed. */
  async checkWrites(): Promise<void> {
    await this.#counted(() => this.#findFailedWrites());
  }

  /** Waits for running statements and closes the engine. No statement may be run after this. */
  async close(): Promise<void> {
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    this.#readers.closeIdle();
    this.#writers.closeIdle();
    this.#native.CloseConnection(this.#anchor);
  }

  /** Runs what `close` has to wait for. */
  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#whenIdle?.();
    }
  }

  async #countFailedWrites(): Promise<void> {
    const { bytes } = await this.#readers.use(undefined, (connection) =>
      this.#native.QueryAsyncConnection(connection, FAILED_WRITES, 'TSVRaw'),
    );
    if (hasFailedWrites(bytes)) this.#options.onFailedWrite();
  }

  async #onConnection<T>(work: (connection: NativeConnection) => Promise<T>): Promise<T> {
    const connection = this.#connect();
    try {
      return await work(connection);
    } finally {
      this.#native.CloseConnection(connection);
    }
  }

  #connect(): NativeConnection {
    try {
      return this.#native.CreateConnection(this.#options.dataDir, this.#options.args);
    } catch (err) {
      this.#options.onBroken(err);
      throw err;
    }
  }

  /** Connections that statements share; `setup` is the SQL for a new one on a database. */
  #poolOf(setup: (database: string | undefined) => string): ConnectionPool {
    return new ConnectionPool({
      open: (database) => this.#open(setup(database)),
      close: (connection) => this.#native.CloseConnection(connection),
      idleMax: this.#options.concurrency + RESERVED_SLOTS,
    });
  }

  async #open(setup: string): Promise<NativeConnection> {
    const connection = this.#connect();
    try {
      await this.#native.QueryAsyncConnection(connection, setup, 'Null');
      return connection;
    } catch (err) {
      this.#native.CloseConnection(connection);
      throw err;
    }
  }

  async #runInSlot(statement: Statement, signal: AbortSignal): Promise<StatementResult> {
    checkParameterNames(statement.parameters);
    const statementId = randomUUID();
    const counted = withCounts(statement.sql, statement.settings);
    const text = selfContained(counted === undefined ? statement : { ...statement, sql: counted }, statementId);
    if (text !== undefined) {
      return this.#readers.use(statement.database, async (connection) => {
        await this.#assertNoExternalAccess(connection, statement);
        signal.throwIfAborted();
        const result = await this.#abortable(statementId, signal, () =>
          this.#query(connection, text, statement.format),
        );
        return counted === undefined ? result : { ...result, ...takeCounts(result.bytes) };
      });
    }
    const insert = selfContainedInsert(statement, statementId);
    if (insert !== undefined) {
      return this.#writers.use(statement.database, (connection) => {
        signal.throwIfAborted();
        return this.#insert(connection, insert, statement.data);
      });
    }
    return this.#onConnection(async (connection) => {
      await this.#assertSingle(connection, statement.sql);
      await this.#native.QueryAsyncConnection(connection, connectionSetup(statement, statementId), 'Null');
      await this.#assertNoExternalAccess(connection, statement);
      signal.throwIfAborted();
      const execute = () => this.#execute(connection, statement);
      return isReadOnly(statement.sql) ? this.#abortable(statementId, signal, execute) : execute();
    });
  }

  /** Runs a read, and kills it when `signal` is aborted. */
  async #abortable<T>(statementId: string, signal: AbortSignal, read: () => Promise<T>): Promise<T> {
    // Created only when it is needed, because aborting a controller creates an error with a stack, which takes time.
    let ended: AbortController | undefined;
    const kill = () => {
      ended = new AbortController();
      void this.#kill(statementId, ended.signal);
    };
    signal.addEventListener('abort', kill, { once: true });
    try {
      return await read();
    } finally {
      signal.removeEventListener('abort', kill);
      ended?.abort();
    }
  }

  /** Refuses several statements in one request, as a ClickHouse server does; chDB would run them all. */
  async #assertSingle(connection: NativeConnection, sql: string): Promise<void> {
    if (!mayContainSeveral(sql)) return;
    const { statementCount } = await this.#native.DurableClassifyAsync(connection, sql, null);
    if (statementCount > 1) throw exceptions.syntax('Multi-statements are not allowed.');
  }

  /** Refuses access to files, programs and addresses. The engine formats the statement first, so that no spelling can hide it. */
  async #assertNoExternalAccess(connection: NativeConnection, { sql, data }: Statement): Promise<void> {
    if (this.#options.isUnchecked === true || !mayAccessExternal(sql, data)) return;
    const formatQuery = `SELECT formatQuerySingleLine(${stringLiteral(sql + data.toString('utf8'))})`;
    const { bytes } = await this.#native.QueryAsyncConnection(connection, formatQuery, 'TSVRaw');
    const found = findExternalAccess(bytes.toString('utf8'));
    if (found !== undefined)
      throw exceptions.accessDenied(
        `${found.trim()} is not allowed: it reaches outside of the database, or runs what nothing checks`,
      );
  }

  async #execute(connection: NativeConnection, { sql, data, format }: Statement): Promise<StatementResult> {
    if (leadingKeyword(sql) === 'INSERT') return this.#insert(connection, sql, data);
    return this.#query(connection, data.length === 0 ? sql : sql + data.toString('utf8'), format);
  }

  async #insert(connection: NativeConnection, sql: string, data: Buffer): Promise<StatementResult> {
    // chDB puts a line feed between the SQL and the data. A second one would be an empty first row in formats of lines.
    const insert = await this.#native.InsertRawAsyncConnection(connection, sql.trimEnd(), data, true);
    const { rowsSent, rowsWritten, bytesWritten } = insert;
    // An INSERT without data reads tables.
    const read = data.length === 0 ? UNKNOWN_COUNTS : { rowsRead: rowsSent ?? 0, bytesRead: data.length };
    return { bytes: NO_DATA, ...read, rowsWritten, bytesWritten };
  }

  async #query(connection: NativeConnection, sql: string, format: string): Promise<StatementResult> {
    const { bytes } = await this.#native.QueryAsyncConnection(connection, sql, format);
    return { bytes, ...UNKNOWN_COUNTS, rowsWritten: 0, bytesWritten: 0 };
  }

  /** Retries until the statement has ended, because it may not be in the list of running queries yet. */
  async #kill(statementId: string, ended: AbortSignal): Promise<void> {
    const sql = `KILL QUERY WHERE Settings['${STATEMENT_ID_SETTING}'] = '${statementId}' ASYNC`;
    while (!ended.aborted) {
      try {
        await this.#onConnection((connection) => this.#native.QueryAsyncConnection(connection, sql, 'Null'));
        await delay(KILL_AGAIN_MS, undefined, { signal: ended });
      } catch (err) {
        if (ended.aborted) return;
        console.error(
          `the statement of a disconnected client could not be killed: ${asDatabaseException(err).message}`,
        );
        return;
      }
    }
  }
}
