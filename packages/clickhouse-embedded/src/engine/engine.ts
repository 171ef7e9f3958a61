import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { asDatabaseException, exceptions } from './database-exception.js';
import type { NativeConnection, NativeEngine } from './native.js';
import { mayReachOutside, reachOutside } from './outside-world.js';
import { Slots } from './slots.js';
import { leadingKeyword, mayHoldSeveral, onlyReads, stringLiteral } from './sql-text.js';
import { MARK_SETTING, prelude, type Statement, type StatementResult } from './statement.js';

export interface EngineOptions {
  readonly dataDir: string;
  /** Arguments as `clickhouse local` takes them. */
  readonly args: readonly string[];
  /** Statements that run at the same time; each needs a thread of libuv's pool. */
  readonly concurrency: number;
  /** No connection can be opened any more: the engine is beyond repair and the process should end. */
  readonly onBroken: (err: unknown) => void;
}

const NO_DATA = Buffer.alloc(0);
const KILL_AGAIN_MS = 100;

/**
 * chDB on one data directory. Every statement runs on a connection of its own, opened for it and closed after it (0.3 ms).
 * Settings, parameters, `USE` and temporary tables live on a connection, so none can leak into the next statement: a leaked
 * `insert_deduplication_token` would silently drop an insert.
 */
export class Engine {
  readonly #native: NativeEngine;
  readonly #options: EngineOptions;
  readonly #slots: Slots;
  /** Keeps the engine itself open while no statement runs. */
  readonly #anchor: NativeConnection;
  #running = 0;
  #whenIdle: (() => void) | undefined;

  constructor(native: NativeEngine, options: EngineOptions) {
    this.#native = native;
    this.#options = options;
    this.#slots = new Slots(options.concurrency);
    this.#anchor = native.CreateConnection(options.dataDir, options.args);
  }

  /**
   * Runs a statement; throws `DatabaseException`. When `signal` fires, a statement that waits is dropped and one that only
   * reads is killed; one that writes goes on to its end, as on the server.
   */
  async run(statement: Statement, signal: AbortSignal): Promise<StatementResult> {
    const release = await this.#slots.take(signal);
    this.#running += 1;
    try {
      return await this.#onConnection((connection) => this.#runOn(connection, statement, signal));
    } catch (err) {
      throw asDatabaseException(err);
    } finally {
      this.#running -= 1;
      release();
      if (this.#running === 0) this.#whenIdle?.();
    }
  }

  /** Closes the engine once the statements that run have ended. Nothing may be run afterwards. */
  async close(): Promise<void> {
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    this.#native.CloseConnection(this.#anchor);
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

  async #runOn(connection: NativeConnection, statement: Statement, signal: AbortSignal): Promise<StatementResult> {
    const mark = randomUUID();
    await this.#assertSingle(connection, statement.sql);
    await this.#native.QueryAsyncConnection(connection, prelude(statement, mark), 'Null');
    await this.#assertInside(connection, statement);
    signal.throwIfAborted();
    const ended = new AbortController();
    const kill = () => void this.#kill(mark, ended.signal);
    if (onlyReads(statement.sql)) signal.addEventListener('abort', kill, { once: true });
    try {
      return await this.#execute(connection, statement);
    } finally {
      signal.removeEventListener('abort', kill);
      ended.abort();
    }
  }

  /** The server takes one statement a request; chDB would run them all. */
  async #assertSingle(connection: NativeConnection, sql: string): Promise<void> {
    if (!mayHoldSeveral(sql)) return;
    const { statementCount } = await this.#native.DurableClassifyAsync(connection, sql, null);
    if (statementCount > 1) throw exceptions.syntax('Multi-statements are not allowed.');
  }

  /** Refuses what reaches files, programs or addresses. The engine spells the statement, so that no writing hides it. */
  async #assertInside(connection: NativeConnection, { sql, data }: Statement): Promise<void> {
    if (!mayReachOutside(sql, data)) return;
    const spell = `SELECT formatQuerySingleLine(${stringLiteral(sql + data.toString('utf8'))})`;
    const { bytes } = await this.#native.QueryAsyncConnection(connection, spell, 'TSVRaw');
    const found = reachOutside(bytes.toString('utf8'));
    if (found !== undefined) throw exceptions.accessDenied(`${found.trim()} reaches outside of the database`);
  }

  async #execute(connection: NativeConnection, { sql, data, format }: Statement): Promise<StatementResult> {
    if (leadingKeyword(sql) === 'INSERT') {
      const insert = await this.#native.InsertRawAsyncConnection(connection, sql, data, true);
      const { rowsSent, rowsWritten, bytesWritten } = insert;
      return { bytes: NO_DATA, rowsRead: rowsSent ?? 0, bytesRead: data.length, rowsWritten, bytesWritten };
    }
    const text = data.length === 0 ? sql : sql + data.toString('utf8');
    const { bytes, rowsRead, bytesRead } = await this.#native.QueryAsyncConnection(connection, text, format);
    return { bytes, rowsRead, bytesRead, rowsWritten: 0, bytesWritten: 0 };
  }

  /** Repeats until the statement has ended: it may not be listed yet at the first attempt. */
  async #kill(mark: string, ended: AbortSignal): Promise<void> {
    const sql = `KILL QUERY WHERE Settings['${MARK_SETTING}'] = '${mark}' ASYNC`;
    while (!ended.aborted) {
      try {
        await this.#onConnection((connection) => this.#native.QueryAsyncConnection(connection, sql, 'Null'));
        await delay(KILL_AGAIN_MS, undefined, { signal: ended });
      } catch (err) {
        if (ended.aborted) return;
        console.error(`a statement whose client is gone could not be killed: ${asDatabaseException(err).message}`);
        return;
      }
    }
  }
}
