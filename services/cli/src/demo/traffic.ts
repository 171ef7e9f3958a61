import { setTimeout as delay } from 'node:timers/promises';
import type { HttpAnswer, HttpClient, HttpRequest } from './http-client.js';
import { newVisitor, skewed, visitorHeaders } from './visitors.js';

export interface TrafficOptions {
  readonly http: HttpClient;
  readonly api: string;
  /** Base URL of the links; the domain is sent in the header Host. */
  readonly links: string;
  readonly domain: string;
  readonly apiKey: string;
  readonly clicksPerSecond: number;
  readonly seconds: number;
  readonly now: () => number;
}

/** Totals so far. `refused` counts failed requests, the others successful ones. */
export interface TrafficTotals {
  links: number;
  clicks: number;
  leads: number;
  sales: number;
  saleAmount: number;
  refused: number;
  firstRefusal: string | undefined;
}

const LINK_COUNT = 12;
const IN_FLIGHT_MAX = 64;
/** Share of clicks that are followed by a lead. */
const LEAD_SHARE = 0.08;
/** Share of leads that are followed by a sale. */
const SALE_SHARE = 0.4;
const TICK_MS = 20;
const ATTEMPTS = 4;
const RETRY_WAIT_MS_MAX = 5_000;

const CAMPAIGNS = ['spring', 'launch', 'newsletter', 'partners'];
const PRICES = [900, 1900, 4900, 9900, 29_900];

/** Simulates visitors of a workspace: clicks, leads and sales over HTTP. */
export function createTraffic(options: TrafficOptions) {
  const { http, api, links, domain, apiKey, now } = options;
  /** Start of the visits; undefined while the links are created, which does not count as part of the duration. */
  let startedMs: number | undefined;
  const totals: TrafficTotals = {
    links: 0,
    clicks: 0,
    leads: 0,
    sales: 0,
    saleAmount: 0,
    refused: 0,
    firstRefusal: undefined,
  };

  function countFailure(what: string, answer: HttpAnswer | Error): void {
    totals.refused += 1;
    const why = answer instanceof Error ? answer.message : `${answer.status} ${answer.body.slice(0, 200)}`;
    totals.firstRefusal ??= `${what}: ${why}`;
  }

  /** Sends a request and retries it after `Retry-After`: a lead may arrive before its click is stored. */
  async function send(request: HttpRequest): Promise<HttpAnswer> {
    let answer = await http.send(request);
    for (let attempt = 1; attempt < ATTEMPTS && answer.retryAfter !== undefined; attempt += 1) {
      await delay(Math.min(answer.retryAfter * 1000, RETRY_WAIT_MS_MAX));
      answer = await http.send(request);
    }
    return answer;
  }

  function call(path: string, body: object): Promise<HttpAnswer> {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    return send({ method: 'POST', url: new URL(`${api}${path}`), headers, body: JSON.stringify(body) });
  }

  /** Returns a successful response; counts a failed one and records the first failure. */
  async function countSuccess(
    what: string,
    sent: Promise<HttpAnswer>,
    statusBelow: number,
  ): Promise<HttpAnswer | undefined> {
    try {
      const answer = await sent;
      if (answer.status < statusBelow) return answer;
      countFailure(what, answer);
    } catch (err) {
      countFailure(what, err as Error);
    }
    return undefined;
  }

  async function createLink(number: number): Promise<string | undefined> {
    const campaign = CAMPAIGNS[number % CAMPAIGNS.length];
    const url = `https://example.com/${campaign}?utm_source=demo&utm_medium=link&utm_campaign=${campaign}`;
    const answer = await countSuccess('POST /links', call('/links', { url, domain, trackConversion: true }), 300);
    if (answer === undefined) return undefined;
    totals.links += 1;
    return (JSON.parse(answer.body) as { key: string }).key;
  }

  /** One visitor: a click, sometimes a lead after it, sometimes a sale after that. */
  async function visit(key: string): Promise<void> {
    const url = new URL(`${links}/${key}${Math.random() < 0.1 ? '?qr=1' : ''}`);
    const headers = { host: domain, ...visitorHeaders(newVisitor()) };
    const click = await countSuccess('GET short link', send({ method: 'GET', url, headers }), 400);
    const clickId = click?.location === undefined ? null : new URL(click.location).searchParams.get('dub_id');
    if (clickId === null) return;
    totals.clicks += 1;
    if (Math.random() >= LEAD_SHARE) return;

    const customerExternalId = `demo-${clickId}`;
    const metadata = { plan: Math.random() < 0.5 ? 'pro' : 'team', seats: 1 + skewed(20) };
    const lead = {
      clickId,
      eventName: 'Sign up',
      customerExternalId,
      customerName: `Visitor ${clickId.slice(-4)}`,
      metadata,
    };
    if ((await countSuccess('POST /track/lead', call('/track/lead', lead), 300)) === undefined) return;
    totals.leads += 1;
    if (Math.random() >= SALE_SHARE) return;

    const amount = PRICES[skewed(PRICES.length)] ?? 900;
    const sale = { customerExternalId, amount, currency: 'usd', invoiceId: `demo-${clickId}`, metadata };
    if ((await countSuccess('POST /track/sale', call('/track/sale', sale), 300)) === undefined) return;
    totals.sales += 1;
    totals.saleAmount += amount;
  }

  const elapsedSeconds = () => (startedMs === undefined ? 0 : (now() - startedMs) / 1000);

  return {
    totals,
    /** From 0 to 1. */
    share: () => Math.min(1, elapsedSeconds() / options.seconds),

    /**
     * Creates the links, then sends visits for the configured time, or until `signal`, with a limited number of concurrent
     * requests.
     */
    async run(signal: AbortSignal): Promise<void> {
      const keys = (await Promise.all(Array.from({ length: LINK_COUNT }, (_, number) => createLink(number)))).filter(
        (key) => key !== undefined,
      );
      if (keys.length === 0) return;
      startedMs = now();
      const inFlight = new Set<Promise<void>>();
      let started = 0;
      while (!signal.aborted && elapsedSeconds() < options.seconds) {
        const due = Math.floor(elapsedSeconds() * options.clicksPerSecond);
        for (; started < due && inFlight.size < IN_FLIGHT_MAX; started += 1) {
          const visiting = visit(keys[skewed(keys.length)] as string).finally(() => inFlight.delete(visiting));
          inFlight.add(visiting);
        }
        // Skips visits that the service could not keep up with, instead of sending them later in a burst.
        started = Math.max(started, due);
        await delay(TICK_MS);
      }
      await Promise.all(inFlight);
    },
  };
}
