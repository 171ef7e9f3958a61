import type { CustomerRecord, CustomerTotals } from '@waymark/catalog';
import type { CustomerData } from '@waymark/contract';
import { clickIdsOf, clicksOf, conversionsOf, deliveriesOf, type Person } from './person-rows.js';

function storedCustomer({ workspaceId: _workspaceId, ...record }: CustomerRecord): CustomerData['customer'] {
  return record;
}

async function* clickPages(person: Person): AsyncGenerator<string[]> {
  for await (const ids of clickIdsOf(person)) yield clicksOf(person, ids);
}

/** A JSON array in pieces: one per page of JSON texts. */
async function* arrayOf(pages: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  let separator = '[';
  for await (const texts of pages) {
    if (texts.length === 0) continue;
    yield separator + texts.join(',\n');
    separator = ',\n';
  }
  yield separator === '[' ? '[]' : ']';
}

/**
 * The file of `GET /customers/{id}/data` (docs/reference/resources.md), in chunks. Keeps one page of rows in memory.
 *
 * @param record undefined for a deleted customer
 * @throws ApiError when ClickHouse is unavailable
 */
export async function* personFile(
  person: Person,
  record: CustomerRecord | undefined,
  totals: CustomerTotals,
): AsyncGenerator<Uint8Array> {
  const customer = record === undefined ? null : storedCustomer(record);
  const parts = {
    clicks: arrayOf(clickPages(person)),
    leads: arrayOf(conversionsOf(person, 'leads')),
    sales: arrayOf(conversionsOf(person, 'sales')),
    webhookDeliveries: arrayOf(deliveriesOf(person)),
  };
  // The answer begins once ClickHouse has answered: until then the time of the request counts, and an error has a status of its own.
  const first = await parts.clicks.next();
  yield Buffer.from(`{"customer":${JSON.stringify(customer)},\n"totals":${JSON.stringify(totals)}`);
  for (const [name, texts] of Object.entries(parts)) {
    yield Buffer.from(`,\n"${name}":${name === 'clicks' ? first.value : ''}`);
    for await (const text of texts) yield Buffer.from(text);
  }
  yield Buffer.from('}\n');
}
