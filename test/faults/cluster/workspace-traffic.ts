import { setTimeout as delay } from 'node:timers/promises';
import { type EventStreamClient, openEventStream, waitFor } from '@waymark/test-kit';
import { type Answer, HttpCaller } from '../stack/http-caller.js';
import type { SentEvents } from '../stack/traffic.js';
import type { ShardedStack } from './sharded-stack.js';

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36';
const RETRY_MS = 500;
/** An API that is only slow, on a busy machine, answers within that time. */
const ANSWER_MS_MAX = 60_000;
/** Visitors of a workspace whose leads and sales are being reported. Further ones only click. */
const CONVERTING_MAX = 30;

/** An answer that was not a success. Status 0: the connection broke. */
interface Failure {
  readonly path: string;
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/**
 * Numbered visitors of one workspace: each clicks through one API, signs up through the other and buys, the sale reported to both. A
 * request that fails is repeated as it was, until it succeeds.
 */
export class WorkspaceTraffic {
  readonly #apis: readonly HttpCaller[];
  readonly #links: readonly HttpCaller[];
  readonly #running: Promise<unknown>;
  #next = 0;
  #isStopping = false;
  readonly #converting = new Set<Promise<void>>();
  readonly sentEvents: SentEvents;
  /** Since the last `mark`. */
  failures: Failure[] = [];
  redirectMs: number[] = [];
  /** Sales. */
  acknowledged = 0;

  private constructor(
    private readonly stack: ShardedStack,
    readonly workspaceId: string,
    /** Number of the workspace's queue shard when it was created. */
    readonly shard: number,
    private readonly domain: string,
    private readonly token: string,
    private readonly pauseMs: number,
  ) {
    const addresses = [stack.addressesOf(0), stack.addressesOf(1)];
    this.#apis = addresses.map(({ api }) => new HttpCaller(api, 8));
    this.#links = addresses.map(({ links }) => new HttpCaller(links, 8));
    this.sentEvents = {
      workspaceId,
      clickIds: new Set(),
      leadCustomers: new Set(),
      saleInvoices: new Set(),
      failedRedirects: [],
      failedTracks: [],
      orphans: new Set(),
    };
    this.#running = Promise.all([this.#run(), this.#run()]);
  }

  /** Creates the workspace, and begins. */
  static async start(stack: ShardedStack, slug: string, pauseMs: number): Promise<WorkspaceTraffic> {
    const domain = `${slug}.acme.example`;
    const { workspace, apiKey } = await stack.withCatalog(async (catalog) => {
      const made = await catalog.workspaces.create({ name: slug, slug, plan: 'enterprise', domain });
      await catalog.workspaces.update(made.workspace.id, { requestsPerMinute: 1_000_000 });
      await catalog.links.create(made.workspace.id, {
        domain,
        key: 'try',
        url: 'https://x.test',
        trackConversion: true,
      });
      return made;
    });
    return new WorkspaceTraffic(stack, workspace.id, workspace.queueShard ?? 0, domain, apiKey.token, pauseMs);
  }

  /** Sends a request of the workspace to an API. */
  async call(api: number, method: string, path: string, body?: object): Promise<Answer> {
    const headers = { authorization: `Bearer ${this.token}` };
    const answer = await this.#apis[api]?.call(method, path, headers, body);
    if (answer === undefined) throw new Error('there are two APIs');
    return answer;
  }

  /** Opens a stream of the workspace's sales. */
  stream(): Promise<EventStreamClient> {
    const url = `${this.stack.addressesOf(0).api}/events/stream?event=sales`;
    return openEventStream({ url, token: this.token });
  }

  /** Whether an API lists the customer of the last lead. */
  async listsLastCustomer(): Promise<boolean> {
    const externalId = [...this.sentEvents.leadCustomers].at(-1) ?? '';
    const { status, body } = await this.call(1, 'GET', `/customers?externalId=${externalId}`);
    return status === 200 && (JSON.parse(body) as { externalId: string }[])[0]?.externalId === externalId;
  }

  /** The names of the acknowledged sales whose visitors came since the number of visitors was `since`. */
  invoicesSince(since: number): string[] {
    return [...this.sentEvents.saleInvoices].filter((invoice) => Number(invoice.split('-')[1]) >= since);
  }

  get visitors(): number {
    return this.#next;
  }

  /** Resets failures and times, so that those of a phase can be read after it. */
  mark(): void {
    this.failures = [];
    this.redirectMs = [];
    this.acknowledged = 0;
  }

  /** This share of the redirects since the last mark took at most so long, in ms. */
  redirectTime(share: number): number {
    const sorted = this.redirectMs.toSorted((one, other) => one - other);
    return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  }

  failuresOf(path: string): readonly Failure[] {
    return this.failures.filter((failure) => failure.path === path);
  }

  /** Resolves when so many more sales were acknowledged, each after its click and its lead. */
  async progress(sales: number): Promise<void> {
    const goal = this.sentEvents.saleInvoices.size + sales;
    const what = `${sales} more sales of a workspace on shard ${this.shard}`;
    await waitFor(() => this.sentEvents.saleInvoices.size >= goal, { what });
  }

  /** Resolves when so many more visitors were redirected. */
  async clicks(count: number): Promise<void> {
    const goal = this.sentEvents.clickIds.size + count;
    await waitFor(() => this.sentEvents.clickIds.size >= goal, { what: `${count} more clicks` });
  }

  /** Resolves when every request has its answer: what is acknowledged after a comparison has begun would count as lost. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
    await Promise.all(this.#converting);
    for (const caller of [...this.#apis, ...this.#links]) caller.close();
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const index = this.#next++;
      const clickId = await this.#click(index);
      // Not awaited: while leads are refused, visitors go on clicking.
      if (clickId !== undefined && this.#converting.size < CONVERTING_MAX) this.#convert(index, clickId);
      await delay(this.pauseMs);
    }
  }

  async #click(index: number): Promise<string | undefined> {
    const address = `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
    const headers = { host: this.domain, 'user-agent': BROWSER, 'x-forwarded-for': address };
    const startedMs = performance.now();
    const answer = await this.#links[index % 2]?.call('GET', '/try', headers).catch(() => undefined);
    this.redirectMs.push(performance.now() - startedMs);
    const { location } = answer?.headers ?? {};
    const clickId = typeof location === 'string' ? new URL(location).searchParams.get('dub_id') : null;
    if (clickId === null) {
      this.failures.push({ path: '/try', status: answer?.status ?? 0, retryAfter: undefined });
      return undefined;
    }
    this.sentEvents.clickIds.add(clickId);
    return clickId;
  }

  #convert(index: number, clickId: string): void {
    const reporting = this.#report(index, clickId).finally(() => this.#converting.delete(reporting));
    this.#converting.add(reporting);
  }

  async #report(index: number, clickId: string): Promise<void> {
    const [customerExternalId, invoiceId] = [`customer-${index}`, `invoice-${index}`];
    if (!(await this.#track(index + 1, '/track/lead', { clickId, eventName: 'Sign up', customerExternalId }))) return;
    this.sentEvents.leadCustomers.add(customerExternalId);
    const sale = { customerExternalId, invoiceId, amount: 1000 + (index % 100) };
    if (!(await this.#track(index, '/track/sale', sale))) return;
    this.sentEvents.saleInvoices.add(invoiceId);
    this.acknowledged += 1;
    await this.#track(index + 1, '/track/sale', sale);
  }

  /** Repeats a request until it succeeds. @returns false if the traffic was stopped before that */
  async #track(api: number, path: string, body: object): Promise<boolean> {
    const headers = { authorization: `Bearer ${this.token}` };
    while (!this.#isStopping) {
      const answer = await this.#apis[api % 2]?.call('POST', path, headers, body, ANSWER_MS_MAX).catch(() => undefined);
      if (answer?.status === 200) return true;
      const retryAfter = answer?.headers['retry-after'];
      this.failures.push({ path, status: answer?.status ?? 0, retryAfter: retryAfter?.toString() });
      await delay(RETRY_MS);
    }
    return false;
  }
}
