import { MOVE_TABLE } from '../migrations/bookkeeping.js';
import { listTables } from '../migrations/database.js';
import { migrationStatus } from '../migrations/migrate.js';
import { renderMigration } from '../migrations/render.js';
import { untilEmpty } from '../shards/wait-for-nodes.js';
import { MOVE_COMMENT } from './copy-slice.js';
import type { ConnectedEndpoint } from './endpoints.js';
import type { MoveHeader, MoveState } from './move-state.js';

/** The databases cannot be moved as they are. The message says why, and what to do. */
export class MoveRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MoveRefusedError';
  }
}

/** See {@link MoveHeader}. */
export interface SourceIdentity {
  readonly source: string;
  readonly migrations: number;
}

/**
 * Checks that the source has exactly the migrations of this release.
 *
 * @throws MoveRefusedError when it has fewer, more or changed migrations
 */
export async function identifySource(source: ConnectedEndpoint): Promise<SourceIdentity> {
  const migrations = await migrationStatus(source.client, { cluster: source.cluster });
  const other = migrations.find(({ state }) => state !== 'applied');
  if (other !== undefined) {
    throw new MoveRefusedError(
      `the source is at another level of migrations than this release: ${other.name} is ${other.state}; ` +
        (other.state === 'pending'
          ? 'apply the migrations of this release to it first (`npx waymark migrate up`, or start the stack once)'
          : 'use the release that applied it'),
    );
  }
  const tables = await listTables(source.client);
  const uuid = tables.find(({ name }) => name === 'schema_migrations')?.uuid;
  if (uuid === undefined) throw new MoveRefusedError('the source has no migrations');
  return { source: uuid, migrations: migrations.length };
}

/** Whether services can start on the database, as after the last step of a move, which drops the tables of the move. */
async function hasAllMigrations({ client, cluster }: ConnectedEndpoint): Promise<boolean> {
  // Another program may have a table of migrations with other columns.
  const migrations = await migrationStatus(client, { cluster }).catch(() => undefined);
  return migrations?.every(({ state }) => state === 'applied') === true;
}

/**
 * Checks that the target is empty, or holds an unfinished move. Call it before anything is written there.
 *
 * @throws MoveRefusedError when it has other tables, or does not answer
 */
export async function assertUsable(target: ConnectedEndpoint, { source }: SourceIdentity): Promise<void> {
  const tables = await listTables(target.client).catch((err: Error): never => {
    throw new MoveRefusedError(
      `${err.message.trim()} Check the address, the user and the password: --to, MOVE_TO_PASSWORD`,
    );
  });
  if (tables.length === 0 || tables.some(({ name }) => name === MOVE_TABLE)) return;
  if (tables.some(({ uuid }) => uuid === source)) {
    throw new MoveRefusedError('the target is the source: name another server or another database');
  }
  const complete = 'if an earlier run of this move has filled it and was killed at its end, it is complete; otherwise ';
  throw new MoveRefusedError(
    `the target database already has tables (${tables[0]?.name}, …) that do not come from an unfinished move: ` +
      `${(await hasAllMigrations(target)) ? complete : ''}name another database, or drop it; the move creates it`,
  );
}

/**
 * Reads the header of the move in progress, or writes one if the target has none.
 *
 * @throws MoveRefusedError when the move in progress has another source, or was begun by a release with other migrations
 */
export async function readOrWriteHeader(state: MoveState, identity: SourceIdentity): Promise<MoveHeader> {
  const header = await state.readHeader();
  if (header === undefined) {
    const started = { ...identity, startedAt: Math.floor(Date.now() / 1000) };
    await state.writeHeader(started);
    return started;
  }
  if (header.source === identity.source && header.migrations === identity.migrations) return header;
  throw new MoveRefusedError(
    'the target holds an unfinished move ' +
      (header.source === identity.source ? 'by another release' : 'from another source') +
      ': finish that move, or drop the database to give it up',
  );
}

/** Waits until inserts of a killed run have ended, because until then the rows of the target may change. */
export async function untilNothingIsInserted({ client, cluster }: ConnectedEndpoint): Promise<void> {
  const processes = renderMigration(`\${nodes:system.processes}`, { cluster });
  const query = `SELECT query_id FROM ${processes} WHERE Settings['log_comment'] = {comment:String}`;
  await untilEmpty(client, query, { comment: MOVE_COMMENT });
}
