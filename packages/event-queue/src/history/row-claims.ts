import { formatResourceId } from '@waymark/contract';
import { EVENT_TABLES, type QueueKind } from '@waymark/event-format';
import { customerClaim, firstSaleClaim, invoiceClaim } from '../claims/claim-names.js';

const SALE_COLUMNS = EVENT_TABLES.sale.columns[1];
const WORKSPACE = SALE_COLUMNS.indexOf('workspace_id');
const CUSTOMER = SALE_COLUMNS.indexOf('customer_id');
const LINK = SALE_COLUMNS.indexOf('link_id');
const INVOICE = SALE_COLUMNS.indexOf('invoice_id');

/** What identifies a sale; numbers are the UInt64 of ids, as decimal text. */
export interface SaleIdentity {
  readonly workspace: string;
  readonly customer: string;
  readonly link: string;
  /** Empty if it has none. */
  readonly invoiceId: string;
}

/** The claims with histories of a sale. */
export function claimsOfSale({ workspace, customer, link, invoiceId }: SaleIdentity): string[] {
  const workspaceId = formatResourceId('workspace', workspace);
  const firstSale = firstSaleClaim(workspaceId, formatResourceId('customer', customer), formatResourceId('link', link));
  return invoiceId === '' ? [firstSale] : [firstSale, invoiceClaim(workspaceId, invoiceId)];
}

/** The claims with histories of a queued row: JSON, of any version. None for a row that cannot be read, which is never written. */
export function claimsOfRow(kind: QueueKind, row: string): string[] {
  if (kind !== 'customer' && kind !== 'sale') return [];
  let columns: readonly unknown[];
  try {
    columns = JSON.parse(row) as readonly unknown[];
    if (!Array.isArray(columns)) return [];
    const text = (index: number) => String(columns[index] ?? '');
    if (kind === 'customer') return [customerClaim(formatResourceId('workspace', text(0)), text(4))];
    const [workspace, customer, link] = [text(WORKSPACE), text(CUSTOMER), text(LINK)];
    return claimsOfSale({ workspace, customer, link, invoiceId: text(INVOICE) });
  } catch {
    return [];
  }
}
