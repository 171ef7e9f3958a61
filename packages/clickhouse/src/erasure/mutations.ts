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
  partsOf,
} from './people.js';

/** The database whose rows are erased. */
export interface ErasureTarget {
  readonly client: ClickHouseClient;
  /** Name of the cluster; undefined: one server. */
  readonly cluster?: string | undefined;
}

/** A mutation that deletes or changes rows of one table. */
interface Mutation {
  readonly table: string;
  /** Commands of one ALTER; constant SQL. */
  readonly commands: readonly string[];
  readonly parameters: Readonly<Record<string, unknown>>;
}

/**
 * The text that marks the mutations of a batch. ClickHouse keeps the text of mutations, so a repeat finds those that are started already,
 * and a batch never has two mutations of one table.
 */
const markOf = ({ id }: Pick<ErasureBatch, 'id'>) => `erasure ${id}`;
const MARKED = `{mark:String} != ''`;

/** Hashes of the event names that other customers of the workspace have as well: such a name does not identify a person, and is kept. */
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

/** The commands that delete some of the selected rows and anonymise others. */
function deleteAndAnonymise(
  condition: (parameter: string) => string,
  assignments: string,
  { deleted, anonymised }: ReturnType<typeof partsOf>,
) {
  return [
    ...(deleted.length > 0 ? [`DELETE WHERE ${MARKED} AND ${condition('deleted')}`] : []),
    ...(anonymised.length > 0 ? [`UPDATE ${assignments} WHERE ${MARKED} AND ${condition('anonymised')}`] : []),
  ];
}

async function mutationsOf(target: ErasureTarget, batch: ErasureBatch): Promise<Mutation[]> {
  const { customers, clicks } = batch;
  const [parts, clickParts] = [partsOf(customers), partsOf(clicks)];
  const conversions = async (table: 'lead_events' | 'sale_events'): Promise<Mutation> => ({
    table,
    commands: deleteAndAnonymise((name) => ofCustomers(name), ANONYMISED[table], parts),
    parameters: {
      ...customersIn('deleted', parts.deleted),
      ...customersIn('anonymised', parts.anonymised),
      names: parts.anonymised.length > 0 ? await sharedNames(target, table, customers) : [],
    },
  });
  const publicIds = customers.map(({ publicId }) => publicId);
  return [
    await conversions('lead_events'),
    await conversions('sale_events'),
    {
      table: 'click_events',
      commands: deleteAndAnonymise(ofClicks, ANONYMISED.click_events, clickParts),
      parameters: { ...clicksIn('deleted', clickParts.deleted), ...clicksIn('anonymised', clickParts.anonymised) },
    },
    {
      table: 'click_aliases',
      commands: clicks.length === 0 ? [] : [`DELETE WHERE ${MARKED} AND ${ofClicks('all')}`],
      parameters: clicksIn('all', clicks),
    },
    {
      // The row that marks a customer as removed stays, so that no late row creates the customer again. It contains no texts.
      table: 'customers',
      commands:
        customers.length === 0 ? [] : [`DELETE WHERE ${MARKED} AND deleted = 0 AND ${ofCustomers('all', 'id')}`],
      parameters: customersIn('all', customers),
    },
    {
      table: 'names',
      commands:
        customers.length === 0 ? [] : [`DELETE WHERE ${MARKED} AND kind = 'customer' AND ${ofCustomers('all', 'id')}`],
      parameters: customersIn('all', customers),
    },
    {
      table: 'customer_totals',
      commands: parts.deleted.length > 0 ? [`DELETE WHERE ${MARKED} AND ${ofCustomers('deleted')}`] : [],
      parameters: customersIn('deleted', parts.deleted),
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

/** The tables for which a mutation of the batch has been started. */
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

/** The mutations of a batch that can be started now. */
export interface PreparedErasure {
  readonly mark: string;
  /** Whether a mutation of the batch was started before. */
  readonly isStarted: boolean;
  /** The mutations that were not started before. */
  readonly missing: readonly Mutation[];
}

/** Reads what {@link startErasure} needs, so that afterwards nothing is between the subtraction of the batch and its first mutation. */
export async function prepareErasure(target: ErasureTarget, batch: ErasureBatch): Promise<PreparedErasure> {
  const started = await startedTables(target, batch);
  const mutations = await mutationsOf(target, batch);
  return {
    mark: markOf(batch),
    isStarted: started.size > 0,
    missing: mutations.filter(({ table, commands }) => commands.length > 0 && !started.has(table)),
  };
}

/**
 * Starts the mutations of a batch, one for each table (docs/reference/erasure.md), except those that were started before. On a cluster they
 * also remove from the files the rows that moves of logical shards have deleted (`removeDeletedRows`): a mutation does not find them.
 *
 * @param assertHeld called before each; throws when no mutation may be started any more
 * @returns how many mutations it has started
 */
export async function startErasure(
  { client, cluster }: ErasureTarget,
  { mark, missing }: PreparedErasure,
  assertHeld: () => void = () => undefined,
): Promise<number> {
  const ofMoves = cluster === undefined ? '' : ', APPLY DELETED MASK';
  for (const { table, commands, parameters } of missing) {
    assertHeld();
    await client.command({
      query: renderMigration(`ALTER TABLE ${table}\${local} \${cluster} ${commands.join(', ')}${ofMoves}`, { cluster }),
      query_params: { ...parameters, mark },
      clickhouse_settings: { mutations_sync: '0', max_query_size: String(MUTATION_CHARS_MAX), log_comment: 'erasure' },
    });
  }
  return missing.length;
}

const MUTATION_CHARS_MAX = 16_000_000;

/** The progress of the mutations of a batch. */
export interface ErasureProgress {
  /** Number of mutations that are not done. */
  readonly running: number;
  /** Number of parts, active or not, whose files the mutations have not rewritten. */
  readonly oldParts: number;
  /** The latest error of a mutation; empty if none has failed. */
  readonly error: string;
}

/**
 * A part whose data version is lower than that of a mutation has not been rewritten by it: its files may contain erased rows, until
 * ClickHouse removes them.
 */
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
      SELECT hostName() AS host, database, table, partition_id, data_version FROM \${nodes:system.parts} WHERE database = currentDatabase()
    ) AS part
    INNER JOIN
    (
      SELECT host, database, table, block.1 AS partition, block.2 AS number FROM mutation ARRAY JOIN arrayZip(partitions, numbers) AS block
    ) AS version USING (host, database, table)
    WHERE version.partition IN ('', part.partition_id) AND part.data_version < version.number
  ),
  (SELECT max(latest_fail_reason) FROM mutation)`;

/** Reads the progress of a batch. Once `running` and `oldParts` are 0, no file of the tables contains what was erased. */
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

/**
 * Counts the rows of a batch's people that should be deleted, or that still contain personal texts: rows that arrived after the erasure was
 * accepted and before the batch began.
 */
export async function countUnerased({ client }: ErasureTarget, { customers, clicks }: ErasureBatch): Promise<number> {
  const [parts, clickParts] = [partsOf(customers), partsOf(clicks)];
  const conversions = (table: string) =>
    `SELECT count() FROM ${table} WHERE ${ofCustomers('deleted')} OR (${ofCustomers('anonymised')} AND (${NOT_ANONYMOUS} OR notEmpty(metadata_kv)))`;
  const rows = await client.rows<[string]>({
    query: `${conversions('lead_events')} UNION ALL ${conversions('sale_events')}
      UNION ALL SELECT count() FROM click_events
      WHERE ${ofClicks('deletedClicks')} OR (${ofClicks('anonymisedClicks')} AND ${NOT_ANONYMOUS})`,
    parameters: {
      ...customersIn('deleted', parts.deleted),
      ...customersIn('anonymised', parts.anonymised),
      ...clicksIn('deletedClicks', clickParts.deleted),
      ...clicksIn('anonymisedClicks', clickParts.anonymised),
    },
    settings: { log_comment: 'erasure' },
  });
  return rows.reduce((sum, [count]) => sum + Number(count), 0);
}
