import { scheduler } from 'node:timers/promises';
import { FAULTS } from '../fault-length.js';
import { HttpCaller } from './http-caller.js';
import type { RunningStack } from './running-stack.js';

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36';
const DOMAIN = 'go.faults.test';
const LINK_COUNT = 20;
/** Between two pages of a dashboard. */
const PAGE_PAUSE_MS = 100;

/** Events answered with success, by the name under which the store must have them, and the failures. */
export interface SentEvents {
  readonly workspaceId: string;
  readonly clickIds: Set<string>;
  readonly leadCustomers: Set<string>;
  readonly saleInvoices: Set<string>;
  /**
   * Redirects that were answered with anything but 302 while the http process ran. A request is repeated once after a 503 with `Retry-After` for a
   * link that the process had not redirected before, which it had to read from the stores.
   */
  readonly failedRedirects: string[];
  readonly failedTracks: string[];
  /** Leads and sales that a page showed as those of a removed customer, though none was removed. */
  readonly orphans: Set<string>;
}

function clientAddress(index: number): string {
  return `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
}

function clickIdOf(location: string | string[] | undefined): string | undefined {
  return typeof location === 'string' ? (new URL(location).searchParams.get('dub_id') ?? undefined) : undefined;
}

/** Simulates numbered visitors who click, sign up and buy until `stop`. */
export class Traffic {
  readonly sentEvents: SentEvents;
  readonly #links: HttpCaller;
  readonly #api: HttpCaller;
  readonly #authorization: string;
  #next = 0;
  #stopping = false;
  #httpIsDown = false;
  #httpKills = 0;
  /** Links that the current http process has redirected, so that they are in its memory. */
  readonly #redirected = new Set<string>();

  private constructor(
    stack: RunningStack,
    workspaceId: string,
    readonly apiKey: string,
  ) {
    this.sentEvents = {
      workspaceId,
      clickIds: new Set(),
      leadCustomers: new Set(),
      saleInvoices: new Set(),
      failedRedirects: [],
      failedTracks: [],
      orphans: new Set(),
    };
    this.#links = new HttpCaller(stack.state.links, 64);
    this.#api = new HttpCaller(stack.state.api, 64);
    this.#authorization = `Bearer ${apiKey}`;
  }

  /** A workspace of its own with a domain and links that track conversions. */
  static async prepare(stack: RunningStack): Promise<Traffic> {
    const made = await stack.waymark(
      ...['workspace', 'create', '--name', 'Faults', '--slug', 'faults', '--plan', 'enterprise', '--domain', DOMAIN],
    );
    const workspace = made.workspace as { id: string };
    const limits = ['--requests-per-minute', '10000000', '--analytics-per-second', '10000'];
    await stack.waymark('workspace', 'update', workspace.id, ...limits);
    const traffic = new Traffic(stack, workspace.id, String(made.apiKey));
    for (let index = 0; index < LINK_COUNT; index++) {
      const link = { domain: DOMAIN, key: `link-${index}`, url: `https://example.com/${index}`, trackConversion: true };
      const answer = await traffic.#api.call('POST', '/links', { authorization: traffic.#authorization }, link);
      if (answer.status !== 200) throw new Error(`link not created: ${answer.status} ${answer.body}`);
    }
    return traffic;
  }

  /** Runs `visitors` in parallel until `stop`; resolves when the last of them is done. */
  async run(visitors: number): Promise<void> {
    await Promise.all(
      Array.from({ length: visitors }, async () => {
        while (!this.#stopping) {
          await this.#visit(this.#next++);
          if (FAULTS.visitorPauseMs > 0) await scheduler.wait(FAULTS.visitorPauseMs);
        }
      }),
    );
  }

  /** Reads the newest leads and sales until `stop`, as a dashboard does. Resolves to how many pages were read. */
  async watch(): Promise<number> {
    let pages = 0;
    while (!this.#stopping) {
      for (const event of ['leads', 'sales']) {
        if (await this.#readPage(event)) pages += 1;
        await scheduler.wait(PAGE_PAUSE_MS);
      }
    }
    return pages;
  }

  /** Events answered with success so far. */
  get acknowledged(): number {
    return this.sentEvents.clickIds.size + this.sentEvents.leadCustomers.size + this.sentEvents.saleInvoices.size;
  }

  stop(): void {
    this.#stopping = true;
  }

  /** While a process is being killed, broken connections do not count as failed redirects. */
  async whileHttpIsDown(action: () => Promise<void>): Promise<void> {
    this.#httpIsDown = true;
    this.#httpKills += 1;
    this.#redirected.clear();
    try {
      await action();
    } finally {
      this.#httpIsDown = false;
    }
  }

  close(): void {
    this.#links.close();
    this.#api.close();
  }

  async #visit(index: number): Promise<void> {
    const clickId = await this.#click(index);
    if (clickId === undefined || index % 4 !== 0) return;
    const customerExternalId = `customer-${index}`;
    const lead = { clickId, eventName: 'Sign up', customerExternalId, customerEmail: `${index}@example.com` };
    if (!(await this.#track('/track/lead', lead))) return;
    this.sentEvents.leadCustomers.add(customerExternalId);
    if (index % 8 !== 0) return;
    const invoiceId = `invoice-${index}`;
    const sale = { customerExternalId, invoiceId, amount: 1000 + (index % 100), currency: 'usd' };
    if (await this.#track('/track/sale', sale)) this.sentEvents.saleInvoices.add(invoiceId);
  }

  async #click(index: number, isRepeated = false): Promise<string | undefined> {
    // Down when it was sent, or killed since: the answer may be seen only when the next process is up.
    const mayBreak = this.#httpIsDown;
    const killsBefore = this.#httpKills;
    const path = `/link-${index % LINK_COUNT}`;
    const mayBeRead = !isRepeated && !this.#redirected.has(path);
    const headers = { host: DOMAIN, 'user-agent': BROWSER, 'x-forwarded-for': clientAddress(index) };
    try {
      const answer = await this.#links.call('GET', path, headers);
      const clickId = clickIdOf(answer.headers.location);
      if (answer.status === 302 && clickId !== undefined) {
        this.sentEvents.clickIds.add(clickId);
        if (killsBefore === this.#httpKills && !this.#httpIsDown) this.#redirected.add(path);
        return clickId;
      }
      const retryAfterSeconds = Number(answer.headers['retry-after'] ?? 0);
      if (mayBeRead && answer.status === 503 && retryAfterSeconds > 0) {
        await scheduler.wait(1000 * retryAfterSeconds);
        return await this.#click(index, true);
      }
      this.sentEvents.failedRedirects.push(`${index}: ${answer.status}`);
    } catch (err) {
      if (!mayBreak && killsBefore === this.#httpKills)
        this.sentEvents.failedRedirects.push(`${index}: ${String(err)}`);
    }
    return undefined;
  }

  async #readPage(event: string): Promise<boolean> {
    try {
      const answer = await this.#api.call('GET', `/events?event=${event}`, { authorization: this.#authorization });
      if (answer.status !== 200) return false;
      const items = JSON.parse(answer.body) as { eventId: string; customer: { name: string } }[];
      for (const { eventId, customer } of items) {
        if (customer.name === 'Deleted Customer') this.sentEvents.orphans.add(eventId);
      }
      return true;
    } catch {
      // The serving process or a store was killed.
      return false;
    }
  }

  /** Retries a failed call, as a customer's server would, until it succeeds or is refused permanently. */
  async #track(path: string, body: unknown): Promise<boolean> {
    for (let attempt = 0; attempt < 200; attempt++) {
      try {
        const answer = await this.#api.call('POST', path, { authorization: this.#authorization }, body);
        if (answer.status === 200) return true;
        if (answer.status < 500 && answer.status !== 429) {
          this.sentEvents.failedTracks.push(`${path} ${answer.status} ${answer.body} ${JSON.stringify(body)}`);
          return false;
        }
      } catch {
        // The serving process was killed; the retry shows whether it had recorded the event.
      }
      await scheduler.wait(100);
    }
    this.sentEvents.failedTracks.push(`${path} was never answered`);
    return false;
  }
}
