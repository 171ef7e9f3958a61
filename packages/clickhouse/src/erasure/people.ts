import { ERASED_ATTRIBUTES } from '@waymark/event-format';

/** A customer to erase. `workspace` and `customer` are the UInt64 of their ids as decimal text. */
export interface ErasedCustomer {
  readonly workspace: string;
  readonly customer: string;
  /** Its `cus_…` id, by which stored webhook deliveries are found. */
  readonly publicId: string;
  /** Whether its events are deleted, not only anonymised. */
  readonly isDeleted: boolean;
}

/** A click that brought an erased customer, or that a lead or sale of the customer names. */
export interface ErasedClick {
  readonly workspace: string;
  readonly clickId: string;
  readonly isDeleted: boolean;
  /** Id of the webhook event that reported the click. */
  readonly deliveryId: string;
}

/** The people whom one batch of erasures erases. */
export interface ErasureBatch {
  /** A UUID. It is in the text of the batch's mutations, and in the deduplication tokens of its inserts into roll-ups. */
  readonly id: string;
  readonly customers: readonly ErasedCustomer[];
  readonly clicks: readonly ErasedClick[];
}

/** Divides customers, or clicks, by what becomes of their events. */
export const partsOf = <Some extends ErasedCustomer | ErasedClick>(some: readonly Some[]) => ({
  deleted: some.filter(({ isDeleted }) => isDeleted),
  anonymised: some.filter(({ isDeleted }) => !isDeleted),
});

/** The query parameters of {@link ofCustomers} with the same name. */
export const customersIn = (name: string, customers: readonly ErasedCustomer[]) => ({
  [`${name}_workspaces`]: customers.map(({ workspace }) => BigInt(workspace)),
  [name]: customers.map(({ customer }) => BigInt(customer)),
});

/** The query parameters of {@link ofClicks} with the same name. */
export const clicksIn = (name: string, clicks: readonly ErasedClick[]) => ({
  [`${name}_workspaces`]: [...new Set(clicks.map(({ workspace }) => workspace))].map(BigInt),
  [name]: clicks.map(({ clickId }) => clickId),
});

/**
 * The condition for rows of the customers in the parameters.
 *
 * @param column the number of the customer
 */
export const ofCustomers = (name: string, column: 'customer_id' | 'id' = 'customer_id') =>
  `(workspace_id, ${column}) IN arrayZip({${name}_workspaces:Array(UInt64)}, {${name}:Array(UInt64)})`;

/** The condition for the clicks in the parameters. Ids of clicks are unique among all workspaces. */
export const ofClicks = (name: string) =>
  `(workspace_id IN {${name}_workspaces:Array(UInt64)} AND toString(click_id) IN {${name}:Array(String)})`;

/** A hash of workspace and event name. The text of a mutation stays on disk, so names are in it only as hashes. */
export const NAME_HASH = 'cityHash64(workspace_id, toString(event_name))';

const json = (column: string) => `toJSONString(toString(${column}))`;

/** SQL that makes the same click object from the columns as `anonymisedPayload` of event-format. */
const clickObject = (timestamp: string) => `'"click":{"id":', ${json('click_id')},
    ',"timestamp":"', replaceOne(toString(${timestamp}), ' ', 'T'), 'Z","url":"","continent":', ${json('continent')},
    ',"country":', ${json('country')}, ',"city":"Unknown","device":', ${json('device')}, ',"browser":', ${json('browser')},
    ',"os":', ${json('os')}, ',"region":"Unknown","ua":"","trigger":', ${json('trigger')},
    ',"referer":"(direct)","refererUrl":"(direct)","qr":', if(trigger = 'qr', 'true', 'false'), '}}'`;

/**
 * SQL that makes the anonymised sale object. It extracts values by regular expressions, because ClickHouse's JSON parser refuses a whole
 * payload when its metadata has an integer of more than 64 bits. Quotes are escaped inside strings, so the first match is always part of
 * the structure, and never of the invoice id or the metadata.
 */
const SALE_OBJECT = `'"sale":{"amount":', extract(payload, '"sale":[{]"amount":([^,]+),"invoiceId":'),
    ',"invoiceId":null,', extract(payload, '"paymentProcessor":"[^"]*","currency":"[^"]*"[}],'), '"metadata":null,'`;

const ATTRIBUTES = [...Object.entries(ERASED_ATTRIBUTES), ['ip', ''] as const]
  .map(([column, value]) => `${column} = '${value}'`)
  .join(', ');

const CONVERSION = `${ATTRIBUTES}, metadata_kv = [],
  event_name = if(${NAME_HASH} IN {names:Array(UInt64)}, event_name, 'Erased')`;

/** The assignments that anonymise a row, by table. */
export const ANONYMISED = {
  click_events: `${ATTRIBUTES}, payload = concat('{"v":1,', ${clickObject('timestamp')})`,
  lead_events: `${CONVERSION}, payload = concat('{"v":1,"metadata":null,', ${clickObject('click_timestamp')})`,
  sale_events: `${CONVERSION}, invoice_id = '',
  payload = concat('{"v":1,', ${SALE_OBJECT}, ${clickObject('click_timestamp')})`,
} as const;
