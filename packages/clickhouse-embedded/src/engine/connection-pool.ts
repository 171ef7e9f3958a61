import type { NativeConnection } from './native.js';

/** Options of {@link ConnectionPool}. */
export interface ConnectionPoolOptions {
  /** Opens a connection on a database, `undefined` for the default one. Rejects if there is no such database. */
  readonly open: (database: string | undefined) => Promise<NativeConnection>;
  readonly close: (connection: NativeConnection) => void;
  /** Idle connections are kept up to this number, over all databases. */
  readonly idleMax: number;
}

/**
 * Connections for statements that leave nothing behind on them, by database. A statement gets an idle connection on its database, else a
 * new one; how many run at a time is not limited here.
 */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  /** In the order of their last use. */
  #idle: { readonly database: string | undefined; readonly connection: NativeConnection }[] = [];

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  /** Runs `work` on a connection of its own. If it rejects, the connection is not used again. */
  async use<T>(database: string | undefined, work: (connection: NativeConnection) => Promise<T>): Promise<T> {
    const connection = this.#take(database) ?? (await this.#options.open(database));
    try {
      const result = await work(connection);
      this.#keep(database, connection);
      return result;
    } catch (err) {
      this.#options.close(connection);
      throw err;
    }
  }

  /** Closes the connections that no statement uses. */
  closeIdle(): void {
    for (const { connection } of this.#idle) this.#options.close(connection);
    this.#idle = [];
  }

  #take(database: string | undefined): NativeConnection | undefined {
    const index = this.#idle.findLastIndex((entry) => entry.database === database);
    return index < 0 ? undefined : this.#idle.splice(index, 1)[0]?.connection;
  }

  #keep(database: string | undefined, connection: NativeConnection): void {
    this.#idle.push({ database, connection });
    const oldest = this.#idle.length > this.#options.idleMax ? this.#idle.shift() : undefined;
    if (oldest !== undefined) this.#options.close(oldest.connection);
  }
}
