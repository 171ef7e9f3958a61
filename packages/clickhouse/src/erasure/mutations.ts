import type { ClickHouseClient } from '../client.js';
import { renderMigration } from '../migrations/render.js';
import {
  ANONYMISED,
  clicksIn,
  customersIn,
  type ErasedCustomer,
  type ErasureBatch,
  NAME_HASH,
  ofClicks,
  ofCustomers,
} from './people.js';

export interface ErasureTarget {
  readonly client: ClickHouseClient;
  /** Name of the cluster; undefined: one server. */
  readonly cluster?: string | undefined;
}

interface Mutation {
  readonly table: string;
  /** Commands of one ALTER; constant SQL. */
  readonly commands: readonly string[];
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** ClickHouse keeps the text of mutations: a batch is found by it, and never has two in a table. */
export const markOf = ({ id }: Pick<ErasureBatch, 'id'>) => `erasure ${id}`;
const MARKED = `{mark:String} != ''`;

/** Event names of the erased customers that other customers of their workspace have, too: such a name says nothing of a person. */
async function sharedNames({ client }: ErasureTarget, table: string, customers: readonly ErasedCustomer[]) {
  const of = ofCustomers('customers');
  const rows = await client.rows<[string]>({
    query: `SELECT DISTINCT ${NAME_HASH} FROM ${table}
      WHERE (workspace_id, event_name) IN (SELECT workspace_id, event_name FROM ${table} WHERE ${of}) AND NOT ${of}`,
    parameters: customersIn('customers', customers),
    settings: { log_comment: 'erasure' },
  });
  return rows.map(([hash]) => BigInt(hash));
}

/** The commands for rows of which some are deleted and some anonymised. */
function deletedAndAnonymised(
  condition: (parameter: string) => string,
  assignments: string,
  has: { deleted: boolean; anonymised: boolean },
) {
  return [
    ...(has.deleted ? [`DELETE WHERE ${MARKED} AND ${condition('deleted')}`] : []),
    ...(has.anonymised ? [`UPDATE ${assignments} WHERE ${MARKED} AND ${condition('anonymised')}`] : []),
  ];
}

async function mutationsOf(target: ErasureTarget, batch: ErasureBatch): Promise<Mutation[]> {
  const { customers, clicks } = batch;
  const deleted = customers.filter(({ isDeleted }) => isDeleted);
  const anonymised = customers.filter(({ isDeleted }) => !isDeleted);
  const has = { deleted: deleted.length > 0, anonymised: anonymised.length > 0 };
  const conversions = async (table: 'lead_events' | 'sale_events'): Promise<Mutation> => ({
    table,
    commands: deletedAndAnonymised(ofCustomers, ANONYMISED[table], has),
    parameters: {
      ...{ ...customersIn('deleted', deleted), ...customersIn('anonymised', anonymised) },
      names: has.anonymised ? await sharedNames(target, table, customers) : [],
    },
  });
  const deletedClicks = clicks.filter(({ isDeleted }) => isDeleted);
  const anonymisedClicks = clicks.filter(({ isDeleted }) => !isDeleted);
  const hasClicks = { deleted: deletedClicks.length > 0, anonymised: anonymisedClicks.length > 0 };
  const publicIds = customers.map(({ publicId }) => publicId);
  return [
    await conversions('lead_events'),
    await conversions('sale_events'),
    {
      table: 'click_events',
      commands: deletedAndAnonymised(ofClicks, ANONYMISED.click_events, hasClicks),
      parameters: { ...clicksIn('deleted', deletedClicks), ...clicksIn('anonymised', anonymisedClicks) },
    },
    {
      table: 'click_aliases',
      commands: clicks.length === 0 ? [] : [`DELETE WHERE ${MARKED} AND ${ofClicks('all')}`],
      parameters: clicksIn('all', clicks),
    },
    {
      // The row that marks a customer as removed stays, so that no late row makes it anew. It has no texts.
      table: 'customers',
      commands:
        customers.length === 0
          ? []
          : [`DELETE WHERE ${MARKED} AND deleted = 0 AND (workspace_id, id) IN {all:Array(Tuple(UInt64, UInt64))}`],
      parameters: customersIn('all', customers),
    },
    {
      table: 'names',
      commands:
        customers.length === 0
          ? []
          : [
              `DELETE WHERE ${MARKED} AND kind = 'customer' AND (workspace_id, id) IN {all:Array(Tuple(UInt64, UInt64))}`,
            ],
      parameters: customersIn('all', customers),
    },
    {
      table: 'customer_totals',
      commands: has.deleted ? [`DELETE WHERE ${MARKED} AND ${ofCustomers('deleted')}`] : [],
      parameters: customersIn('deleted', deleted),
    },
    {
      table: 'webhook_deliveries',
      commands: [
        `UPDATE request_body = '', response_body = '' WHERE ${MARKED} AND workspace_id IN {workspaces:Array(UInt64)}
        AND (event_id IN {deliveries:Array(String)} OR hasAny(extractAll(request_body, 'cus_[0-9A-Za-z]{11}'), {ids:Array(String)}))`,
      ],
      parameters: {
        workspaces: [...new Set([...customers, ...clicks].map(({ workspace }) => workspace))].map(BigInt),
        deliveries: clicks.map(({ deliveryId }) => deliveryId),
        ids: publicIds,
      },
    },
  ];
}

/** Tables that have a mutation of the batch. */
async function startedTables({ client, cluster }: ErasureTarget, batch: ErasureBatch): Promise<ReadonlySet<string>> {
  const rows = await client.rows<[string]>({
    query: renderMigration(
      `SELECT DISTINCT table FROM \${nodes:system.mutations}
      WHERE database = currentDatabase() AND position(command, {mark:String}) > 0`,
      { cluster },
    ),
    parameters: { mark: markOf(batch) },
  });
  return new Set(rows.map(([table]) => (cluster === undefined ? table : table.replace(/_local$/, ''))));
}

/**
 * Starts the mutations of a batch, one a table. A repeat starts only those that are missing.
 *
 * @returns how many it has started
 */
export async function startErasure(target: ErasureTarget, batch: ErasureBatch): Promise<number> {
  const { client, cluster } = target;
  const started = await startedTables(target, batch);
  const missing = (await mutationsOf(target, batch)).filter(
    ({ table, commands }) => commands.length > 0 && !started.has(table),
  );
  for (const { table, commands, parameters } of missing) {
    await client.command({
      query: renderMigration(`ALTER TABLE ${table}\${local} \${cluster} ${commands.join(', ')}`, { cluster }),
      query_params: { ...parameters, mark: markOf(batch) },
      clickhouse_settings: { mutations_sync: '0', max_query_size: String(MUTATION_CHARS_MAX), log_comment: 'erasure' },
    });
  }
  return missing.length;
}

const MUTATION_CHARS_MAX = 16_000_000;

/** How far the mutations of a batch are. */
export interface ErasureProgress {
  /** Mutations that run or wait. */
  readonly running: number;
  /** Parts, active or not, that are from before them. */
  readonly oldParts: number;
  /** Why a mutation fails at the moment; empty if none does. */
  readonly error: string;
}

/** A part of a lower version than a mutation has not gone through it: its files may have what was erased, until they are removed. */
const PROGRESS = `WITH
  mutation AS
  (
    SELECT DISTINCT hostName() AS host, database, table, mutation_id, is_done, latest_fail_reason,
      block_numbers.partition_id AS partitions, block_numbers.number AS numbers
    FROM \${nodes:system.mutations}
    WHERE database = currentDatabase() AND position(command, {mark:String}) > 0
  )
SELECT
  (SELECT countIf(NOT is_done) FROM mutation),
  (
    SELECT count() FROM
    (
      SELECT hostName() AS host, table, partition_id, data_version FROM \${nodes:system.parts} WHERE database = currentDatabase()
    ) AS part
    INNER JOIN
    (
      SELECT host, table, block.1 AS partition, block.2 AS number FROM mutation ARRAY JOIN arrayZip(partitions, numbers) AS block
    ) AS version USING (host, table)
    WHERE version.partition IN ('', part.partition_id) AND part.data_version < version.number
  ),
  (SELECT max(latest_fail_reason) FROM mutation)`;

/** Reads how far a batch is. Nothing of the erased rows is in any file of the tables once nothing runs and no old part is left. */
export async function erasureProgress(
  { client, cluster }: ErasureTarget,
  batch: ErasureBatch,
): Promise<ErasureProgress> {
  const [row] = await client.rows<[string, string, string]>({
    query: renderMigration(PROGRESS, { cluster }),
    parameters: { mark: markOf(batch) },
  });
  const [running = '0', oldParts = '0', error = ''] = row ?? [];
  return { running: Number(running), oldParts: Number(oldParts), error: error ?? '' };
}

const NOT_ANONYMOUS = `(ip != '' OR url != '' OR referer_url != '(direct)' OR city != 'Unknown')`;

/** Rows of the people of a batch that have texts, or should be gone: rows that arrived between acceptance and batch. */
export async function countUnerased({ client }: ErasureTarget, { customers, clicks }: ErasureBatch): Promise<number> {
  const conversions = (table: string) =>
    `SELECT count() FROM ${table} WHERE ${ofCustomers('deleted')} OR (${ofCustomers('anonymised')} AND (${NOT_ANONYMOUS} OR notEmpty(metadata_kv)))`;
  const rows = await client.rows<[string]>({
    query: `${conversions('lead_events')} UNION ALL ${conversions('sale_events')}
      UNION ALL SELECT count() FROM click_events
      WHERE ${ofClicks('deletedClicks')} OR (${ofClicks('anonymisedClicks')} AND ${NOT_ANONYMOUS})`,
    parameters: {
      ...customersIn(
        'deleted',
        customers.filter(({ isDeleted }) => isDeleted),
      ),
      ...customersIn(
        'anonymised',
        customers.filter(({ isDeleted }) => !isDeleted),
      ),
      ...clicksIn(
        'deletedClicks',
        clicks.filter(({ isDeleted }) => isDeleted),
      ),
      ...clicksIn(
        'anonymisedClicks',
        clicks.filter(({ isDeleted }) => !isDeleted),
      ),
    },
    settings: { log_comment: 'erasure' },
  });
  return rows.reduce((sum, [count]) => sum + Number(count), 0);
}
