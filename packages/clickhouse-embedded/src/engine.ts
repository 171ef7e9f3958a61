import { randomUUID } from 'node:crypto';
import { asDatabaseException, DatabaseException } from './database-exception.js';
import type { NativeConnection, NativeEngine } from './native.js';
import { Slots } from './slots.js';
import { leadingKeyword, quotedIdentifier, stringLiteral } from './sql-text.js';

/** One statement with all that belongs to it alone. */
export interface Statement {
  readonly sql: string;
  /** Bytes that follow the text: the rows of an INSERT. */
  readonly data: Buffer;
  readonly database: string | undefined;
  readonly format: string;
  /** Settings by name, values as text. */
  readonly settings: ReadonlyMap<string, string>;
  /** Parameters by name, values in ClickHouse's escaped text form, as `param_<name>` of a URL has them. */
  readonly parameters: ReadonlyMap<string, string>;
}

export interface StatementResult {
  readonly bytes: Buffer;
  readonly rowsRead: number;
  readonly bytesRead: number;
  readonly rowsWritten: number;
  readonly bytesWritten: number;
}

export interface EngineOptions {
  readonly dataDir: string;
  /** Arguments as `clickhouse local` takes them. */
  readonly args: readonly string[];
  /** Statements that run at the same time; each needs a thread of libuv's pool. */
  readonly concurrency: number;
}

const NO_DATA = Buffer.alloc(0);
/**
 * Carries the mark by which a running statement is found and killed. Any text setting without effect would do: chDB gives
 * statements ids of its own and does not tell them.
 */
const MARK_SETTING = 'query_cache_tag';

/**
 * chDB on one data directory. Every statement runs on a connection of its own, opened for it and closed after it (0.3 ms):
 * settings, parameters, `USE` and temporary tables live on a connection, so none can leak into the next statement.
 */
export class Engine {
  readonly #native: NativeEngine;
  readonly #dataDir: string;
  readonly #args: readonly string[];
  readonly #slots: Slots;
  /** Keeps the engine itself open while no statement runs. */
  readonly #anchor: NativeConnection;
  #running = 0;
  #whenIdle: (() => void) | undefined;

  constructor(native: NativeEngine, options: EngineOptions) {
    this.#native = native;
    this.#dataDir = options.dataDir;
    this.#args = options.args;
    this.#slots = new Slots(options.concurrency);
    this.#anchor = this.#connect();
  }

  /** Runs a statement; throws `DatabaseException`. When `signal` fires the statement is killed, waiting or running. */
  async run(statement: Statement, signal: AbortSignal): Promise<StatementResult> {
    const release = await this.#slots.take(signal);
    this.#running += 1;
    try {
      return await this.#runConnected(statement, signal);
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

  #connect(): NativeConnection {
    return this.#native.CreateConnection(this.#dataDir, this.#args);
  }

  async #runConnected(statement: Statement, signal: AbortSignal): Promise<StatementResult> {
    signal.throwIfAborted();
    const connection = this.#connect();
    const mark = randomUUID();
    const kill = () => void this.#kill(mark);
    try {
      if (statement.database !== undefined) {
        await this.#native.QueryAsyncConnection(connection, `USE ${quotedIdentifier(statement.database)}`, 'Null');
      }
      await this.#native.QueryAsyncConnection(connection, setStatement(statement, mark), 'Null');
      signal.throwIfAborted();
      signal.addEventListener('abort', kill, { once: true });
      return await this.#execute(connection, statement);
    } finally {
      signal.removeEventListener('abort', kill);
      this.#native.CloseConnection(connection);
    }
  }

  async #execute(connection: NativeConnection, { sql, data, format }: Statement): Promise<StatementResult> {
    if (leadingKeyword(sql) === 'INSERT') {
      const written = await this.#native.InsertRawAsyncConnection(connection, sql, data, false);
      return { bytes: NO_DATA, rowsRead: 0, bytesRead: 0, ...written };
    }
    const text = data.length === 0 ? sql : `${sql}${data.toString('utf8')}`;
    const read = await this.#native.QueryAsyncConnection(connection, text, format);
    return { bytes: read.bytes, rowsRead: read.rowsRead, bytesRead: read.bytesRead, rowsWritten: 0, bytesWritten: 0 };
  }

  async #kill(mark: string): Promise<void> {
    const sql = `KILL QUERY WHERE Settings['${MARK_SETTING}'] = '${mark}' ASYNC`;
    const connection = this.#connect();
    try {
      await this.#native.QueryAsyncConnection(connection, sql, 'Null');
    } catch (err) {
      console.error(`a statement whose client went away could not be killed: ${asDatabaseException(err).message}`);
    } finally {
      this.#native.CloseConnection(connection);
    }
  }
}

const NAME = /^[A-Za-z_]\w*$/;

function setStatement({ settings, parameters }: Statement, mark: string): string {
  const assignments = [`${MARK_SETTING} = '${mark}'`];
  for (const [name, value] of settings) {
    if (!NAME.test(name)) throw new DatabaseException(115, `Unknown setting '${name}'. (UNKNOWN_SETTING)`);
    assignments.push(`${name} = ${stringLiteral(value)}`);
  }
  for (const [name, value] of parameters) {
    if (!/^\w+$/.test(name)) throw new DatabaseException(36, `Bad parameter name '${name}'. (BAD_ARGUMENTS)`);
    assignments.push(`param_${name} = ${stringLiteral(value)}`);
  }
  return `SET ${assignments.join(', ')}`;
}
