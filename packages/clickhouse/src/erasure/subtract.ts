import type { RowValue } from '@waymark/event-format';
import { insertRows } from '../rows/insert-rows.js';
import { QUORUM_INSERT } from '../rows/replicated.js';
import { createRowGroups } from '../shards/row-groups.js';
import type { ErasureTarget } from './mutations.js';
import { clicksIn, customersIn, type ErasureBatch, ofClicks, ofCustomers, partsOf } from './people.js';

/** What the deleted events of one link have added to the roll-ups within a quarter of an hour. */
interface Counted {
  readonly workspace: string;
  readonly link: string;
  readonly slot: string;
  readonly day: string;
  readonly clicks: bigint;
  readonly leads: bigint;
  readonly sales: bigint;
  readonly saleAmount: bigint;
  readonly conversions: bigint;
}

const SLOTS =
  'workspace_id, link_id, toString(toUnixTimestamp(toStartOfFifteenMinutes(timestamp))) AS slot, toString(toDate(timestamp)) AS day';

/** The number that subtracts `count` when it is added to a UInt64 sum, because these sums are modulo 2^64. */
const minus = (count: bigint): string => BigInt.asUintN(64, -count).toString();

async function readCounted({ client }: ErasureTarget, batch: ErasureBatch): Promise<Counted[]> {
  const { deleted: customers } = partsOf(batch.customers);
  const { deleted: clicks } = partsOf(batch.clicks);
  const readSums = async (table: string, sums: string, condition: string) =>
    client.rows<readonly string[]>({
      query: `SELECT ${SLOTS}, ${sums} FROM ${table} WHERE ${condition} GROUP BY workspace_id, link_id, slot, day`,
      parameters: { ...customersIn('customers', customers), ...clicksIn('clicks', clicks) },
      settings: { log_comment: 'erasure' },
    });
  const nothing = { clicks: 0n, leads: 0n, sales: 0n, saleAmount: 0n, conversions: 0n };
  const keyOf = ([workspace = '0', link = '0', slot = '0', day = '']: readonly string[]) => ({
    workspace,
    link,
    slot,
    day,
  });
  const [ofClick, ofLead, ofSale] = await Promise.all([
    readSums('click_events', 'toString(count())', ofClicks('clicks')),
    readSums('lead_events', 'toString(count())', ofCustomers('customers')),
    readSums(
      'sale_events',
      `toString(count()), toString(sum(amount)), toString(countIf(sale_type = 'new'))`,
      ofCustomers('customers'),
    ),
  ]);
  return [
    ...ofClick.map((row) => ({ ...keyOf(row), ...nothing, clicks: BigInt(row[4] ?? 0) })),
    ...ofLead.map((row) => ({ ...keyOf(row), ...nothing, leads: BigInt(row[4] ?? 0) })),
    ...ofSale.map((row) => ({
      ...keyOf(row),
      ...nothing,
      sales: BigInt(row[4] ?? 0),
      saleAmount: BigInt(row[5] ?? 0),
      conversions: BigInt(row[6] ?? 0),
    })),
  ];
}

const COUNTS = ['clicks', 'leads', 'sales', 'sale_amount'] as const;

const countsOf = ({ clicks, leads, sales, saleAmount }: Counted): RowValue[] => [
  ...[minus(clicks), minus(leads), minus(sales)],
  (-saleAmount).toString(),
];

/** The roll-ups from which events can be subtracted, and the row that subtracts them. `customer_totals` is not one: it has a minimum. */
const ROLL_UPS = [
  {
    table: 'link_totals',
    columns: ['workspace_id', 'link_id', ...COUNTS, 'conversions'],
    row: (one: Counted) => [one.workspace, one.link, ...countsOf(one), minus(one.conversions)],
  },
  {
    table: 'workspace_slots',
    columns: ['workspace_id', 'slot', ...COUNTS],
    row: (one: Counted) => [one.workspace, Number(one.slot), ...countsOf(one)],
  },
  {
    table: 'link_days',
    columns: ['workspace_id', 'link_id', 'day', ...COUNTS],
    row: (one: Counted) => [one.workspace, one.link, one.day, ...countsOf(one)],
  },
] as const;

/** The deleted events of a batch, which can be subtracted from the roll-ups. */
export interface Subtraction {
  /** What the deduplication tokens of the inserts end with, one for each shard. They change when a logical shard moves. */
  readonly groups: readonly string[];
  /**
   * Subtracts the events. After an error, some roll-ups may have been changed. A repeat changes the others only, as long as ClickHouse has
   * the tokens and `groups` are the same.
   *
   * @param assertHeld called before each insert; throws when nothing may be subtracted any more
   */
  run(assertHeld: () => void): Promise<void>;
}

/**
 * Reads what the deleted events of a batch, and deleted clicks, have added to the roll-ups. Call it before `startErasure`.
 *
 * @returns undefined when there is nothing to subtract
 */
export async function prepareSubtraction(target: ErasureTarget, batch: ErasureBatch): Promise<Subtraction | undefined> {
  const counted = await readCounted(target, batch);
  if (counted.length === 0) return undefined;
  const { client, cluster } = target;
  const groups = await createRowGroups(client, { cluster, now: Date.now }).groupsOf(
    counted,
    ({ workspace }) => workspace,
  );
  return {
    groups: groups.map(({ name }) => name).sort(),
    async run(assertHeld) {
      for (const { table, columns, row } of ROLL_UPS) {
        for (const group of groups) {
          assertHeld();
          await insertRows(client, {
            table,
            columns,
            rows: group.rows.map(row),
            deduplicationToken: `erasure-${batch.id}${group.name}`,
            ...(cluster === undefined ? {} : { settings: QUORUM_INSERT }),
          });
        }
      }
    },
  };
}
