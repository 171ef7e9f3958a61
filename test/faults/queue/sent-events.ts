import type { Acknowledged, ProducerReport } from './messages.js';

/** The outcome of all sent events. Each acknowledged one must be in ClickHouse exactly once. */
export class SentEvents {
  readonly clicks = new Set<string>();
  /** Event id of each invoice's sale, by producer and number. */
  readonly sales = new Map<string, string>();
  readonly customers = new Set<string>();
  readonly failedClicks: string[] = [];
  /** Invoices that were answered with two different sales. */
  readonly contradictions: string[] = [];
  readonly refusals: Record<string, number> = {};
  acknowledged = 0;

  add(prefix: string, report: ProducerReport): void {
    this.failedClicks.push(...report.failedClicks);
    for (const [status, count] of Object.entries(report.refusals)) {
      this.refusals[status] = (this.refusals[status] ?? 0) + count;
    }
    for (const event of report.acknowledged) this.#addEvent(prefix, event);
  }

  #addEvent(prefix: string, event: Acknowledged): void {
    this.acknowledged += 1;
    if (event.kind === 'click') {
      this.clicks.add(event.id);
      return;
    }
    const invoice = `${prefix}-${event.invoice}`;
    const before = this.sales.get(invoice);
    if (before !== undefined && before !== event.id) this.contradictions.push(invoice);
    this.sales.set(invoice, event.id);
    this.customers.add(event.customerId);
  }
}
