import {
  bookkeepingTables,
  MOVE_SLICES_TABLE,
  MOVE_TABLE,
  moveTables,
  readSettings,
  writeSettings,
} from '../migrations/bookkeeping.js';
import { renderMigration } from '../migrations/render.js';
import type { Digest } from './digest.js';
import type { ConnectedEndpoint } from './endpoints.js';
import type { Slice } from './slice.js';

/** The row in the target that identifies the move in progress. */
export interface MoveHeader {
  /** UUID of the source's table `schema_migrations`, which no other database has. */
  readonly source: string;
  /** Number of migrations of the source. */
  readonly migrations: number;
  /** Epoch seconds. */
  readonly startedAt: number;
}

/** A planned slice; `copied` is set once its rows are at the target. */
export interface PlannedSlice extends Slice {
  readonly copied: Pick<Digest, 'rows' | 'checksum'> | undefined;
}

/** The checkpoint of a move, stored in its target: a run after a kill continues there. */
export class MoveState {
  readonly #target: ConnectedEndpoint;

  constructor(target: ConnectedEndpoint) {
    this.#target = target;
  }

  /** Creates the tables, first the one by which a later run recognises that the database holds an unfinished move. */
  async create(): Promise<void> {
    for (const query of [...moveTables(this.#target), ...bookkeepingTables(this.#target)]) {
      await this.#target.client.command({ query });
    }
  }

  /** Drops the tables of the move, which ends it. */
  async drop(): Promise<void> {
    for (const table of [MOVE_SLICES_TABLE, MOVE_TABLE]) {
      const query = renderMigration(`DROP TABLE IF EXISTS ${table} \${cluster} SYNC`, this.#target);
      await this.#target.client.command({ query });
    }
  }

  /** @returns undefined before the first {@link writeHeader} */
  async readHeader(): Promise<MoveHeader | undefined> {
    const [row] = await this.#rows<[string, number, string]>(
      `SELECT source, migrations, toUnixTimestamp(started_at) FROM ${MOVE_TABLE} FINAL`,
    );
    return row && { source: row[0], migrations: row[1], startedAt: Number(row[2]) };
  }

  async writeHeader({ source, migrations, startedAt }: MoveHeader): Promise<void> {
    await this.#insert(MOVE_TABLE, [{ source, migrations, started_at: startedAt * 1000 }]);
  }

  /** Whether slices are planned for at least one table, which happens after all tables have been created. */
  async hasPlans(): Promise<boolean> {
    return (await this.#rows(`SELECT 1 FROM ${MOVE_SLICES_TABLE} LIMIT 1`)).length > 0;
  }

  /** The slices of a table, in order; undefined until they are planned. */
  async readSlices(table: string): Promise<PlannedSlice[] | undefined> {
    const rows = await this.#rows<[number, string[], string[], string[], string, string, number]>(
      `SELECT number, partition, above, up_to, rows, checksum, is_copied FROM ${MOVE_SLICES_TABLE} FINAL
        WHERE table_name = {table:String} ORDER BY number`,
      { table },
    );
    if (rows.length === 0) return undefined;
    return rows.map(([number, partition, above, upTo, count, checksum, isCopied]) => ({
      number,
      partition,
      above,
      upTo,
      copied: isCopied === 1 ? { rows: count, checksum } : undefined,
    }));
  }

  /** Stores the slices of a table, all of them or none, because it is one insert. */
  async writePlan(table: string, slices: readonly Slice[]): Promise<void> {
    await this.#insert(
      MOVE_SLICES_TABLE,
      slices.map((slice) => ({ ...fieldsOf(table, slice), rows: 0, checksum: 0, is_copied: 0, version: 0 })),
    );
  }

  /** Records that a slice has been copied. */
  async writeCopied(table: string, slice: Slice, { rows, checksum }: Digest): Promise<void> {
    await this.#insert(MOVE_SLICES_TABLE, [{ ...fieldsOf(table, slice), rows, checksum, is_copied: 1, version: 1 }]);
  }

  #rows<Row extends readonly unknown[]>(query: string, parameters: Record<string, string> = {}): Promise<Row[]> {
    return this.#target.client.rows<Row>({ query, parameters, settings: readSettings(this.#target) });
  }

  async #insert(table: string, values: readonly object[]): Promise<void> {
    await this.#target.client.insert({
      table,
      values: [...values],
      format: 'JSONEachRow',
      clickhouse_settings: writeSettings(this.#target),
    });
  }
}

function fieldsOf(table: string, { number, partition, above, upTo }: Slice) {
  return { table_name: table, number, partition, above, up_to: upTo };
}
