import { type CustomerRecord, customerName } from '@waymark/catalog';
import { firstSaleClaim, type InvoiceAnswer, invoiceClaim, type PastClaim } from '@waymark/event-queue';
import type { PastSale } from './past-event.js';

type Metadata = NonNullable<InvoiceAnswer['sale']>['metadata'];

/** A sale that is about to be stored, with its customer and link. */
export interface AttributedSale {
  readonly event: PastSale;
  readonly eventId: string;
  readonly customer: CustomerRecord;
  /** `link_…` */
  readonly linkId: string;
}

/** The answer that `/track/sale` gives when the invoice is reported again. */
function answerTo({ event, customer, linkId }: AttributedSale): InvoiceAnswer {
  const { eventName, amount, currency, paymentProcessor, invoiceId, metadata } = event;
  const { id, email, avatar, externalId } = customer;
  return {
    eventName,
    linkId,
    customer: { id, name: customerName(customer), email, avatar, externalId },
    sale: { amount, currency, paymentProcessor, invoiceId, metadata: metadata as Metadata },
  };
}

/**
 * The claims of a past sale, with the names that `/track/sale` uses: an invoice is recorded once, also when it is reported during the
 * import.
 *
 * @param isFirst whether it is its customer's first sale on the link
 */
export function claimsOf(workspaceId: string, sale: AttributedSale, isFirst: boolean): PastClaim[] {
  const { event, eventId, customer, linkId } = sale;
  const claims: PastClaim[] = [];
  if (event.invoiceId !== null) {
    const name = invoiceClaim(workspaceId, event.invoiceId);
    claims.push({ eventId, name, value: JSON.stringify(answerTo(sale)), ifTaken: 'drop' });
  }
  if (isFirst) {
    const name = firstSaleClaim(workspaceId, customer.id, linkId);
    claims.push({ eventId, name, value: '1', ifTaken: 'recurring' });
  }
  return claims;
}
