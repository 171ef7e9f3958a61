/**
 * The browser script (docs/reference/browser-script.md). A variant is built from this file by setting the constants below: the build leaves
 * out the code of features that the variant does not have.
 */
import { type Click, clickId, isClickId, keepClick, mayKeep, partnerData, storedClick } from './attribution.js';
import { passClickId } from './outbound.js';
import { send } from './send.js';
import { cookies, domains, needsConsent, publishableKey, queryParams, referDomain } from './settings.js';

declare const SITE_VISIT: boolean;
declare const OUTBOUND_DOMAINS: boolean;
declare const CONVERSION_TRACKING: boolean;

/** A call: the name of the method, and its arguments. Loaders queue calls before the script runs. */
type Call = ArrayLike<unknown>;
type Method = (input?: never) => unknown;

interface Analytics {
  (...call: unknown[]): unknown;
  q?: { push(call: Call): unknown };
  [method: string]: unknown;
}

interface PageWindow {
  dubAnalytics?: Analytics;
  DubAnalytics?: object;
  _dubAnalytics?: object;
}

function start(page: PageWindow): void {
  // Read now, because a single-page application may have changed the address by the time consent is given.
  let address = new URL(location.href);
  const { referrer } = document;
  const waiting: (() => unknown)[] = [];
  /** The address of the page at the time of the call that runs. */
  let calledAt: string;
  // A prerendered page is not visible and may never be shown, so that reports of it would be wrong.
  const isPrerendered = () => (document as { readonly prerendering?: boolean }).prerendering;
  const shown = new Promise((done) => {
    document.addEventListener('prerenderingchange', done);
  });
  // A page that was prerendered may be shown at another address, if its server says that parameters do not matter (`No-Vary-Search`).
  shown.then(() => {
    address = new URL(location.href);
  });
  let isRunning = false;
  /** Settles when the click or visit of this page is recorded. Calls that need its click id wait for it. */
  let recording: Promise<void> = Promise.resolve();

  /**
   * Reports a click or visit, and stores the answer, to which the promise resolves.
   *
   * @param id the click id in the page's address. If given, an answer that names another click is not stored
   */
  const record = (path: string, body: object, id?: string): Promise<Click | undefined> => {
    const answer = send<Click>(path, { url: address.href, referrer, ...body });
    recording = answer.then((click) => {
      if (!click || (id && click.clickId !== id)) return;
      page.DubAnalytics = keepClick(click);
      if (OUTBOUND_DOMAINS) passClickId();
    });
    return recording.then(() => answer);
  };

  const convert = (path: string, body: (id: string | undefined) => object | undefined) =>
    recording.then(() => {
      const input = body(clickId());
      return input && send(path, input, publishableKey);
    });

  const methods: Record<string, Method> = {
    ready: (callback?: () => void) => recording.then(callback),
    trackClick: (input?: object) => record('click', { domain: referDomain, url: calledAt, ...input }),
    ...(CONVERSION_TRACKING && {
      trackLead(input?: { readonly clickId?: string | null }) {
        return convert('lead/client', (id) => {
          const leadId = input?.clickId || id;
          if (leadId) return { ...input, clickId: leadId };
          // The visitor did not come through a link, and there is nothing to attribute the lead to.
          return void console.warn('[dubAnalytics] a lead without a click id is not sent');
        });
      },
      trackSale: (input?: object) => convert('sale/client', () => input),
    }),
    consent() {},
  };

  /** Starts tracking, at once or when consent is given, and runs the calls that were queued until then. */
  function startTracking(): void {
    isRunning = true;
    const parameters = address.searchParams;
    const text = parameters.get('dub_id') ?? '';
    const id = isClickId(text) ? text : undefined;
    const stored = storedClick();
    const hasPartner = id && stored?.clickId === id && stored.partner;
    if (id) keepClick({ ...(hasPartner && stored), clickId: id });
    const key = queryParams.map((name) => parameters.get(name)).find(Boolean);
    // A partner link's destination has the click id but not the partner; the answer of `/track/click` has both.
    if (key && referDomain && !hasPartner && mayKeep(id)) record('click', { domain: referDomain, key }, id);
    else if (SITE_VISIT && domains.site && !clickId()) record('visit', { domain: domains.site });
    page.DubAnalytics = partnerData();
    if (OUTBOUND_DOMAINS) passClickId();
    for (const resume of waiting.splice(0)) resume();
  }

  function run(call: Call, at = location.href): unknown {
    // If no consent is needed, the script has not started because the page is just being shown: a listener of the page ran first.
    if (isPrerendered() || !(isRunning || needsConsent)) return shown.then(() => run(call));
    const [name, ...input] = Array.from(call) as [string, ...never[]];
    if (name === 'consent' && !isRunning) return startTracking();
    if (!isRunning) return waiting.push(() => run(call, at));
    const method = methods[name];
    calledAt = at;
    if (method) return method(...input);
    console.warn(`[dubAnalytics] this script has no ${name}`);
    return recording;
  }

  const queued = page.dubAnalytics?.q as Call[] | undefined;
  const analytics = ((...call: unknown[]) => run(call)) as unknown as Analytics;
  // A loader that runs again replaces the methods with its own, which call `q.push`.
  analytics.q = { push: run };
  // Also the methods of other variants, so that a call of one logs a warning instead of throwing an error in the page.
  for (const name of ['trackLead', 'trackSale', ...Object.keys(methods)])
    analytics[name] = (...input: unknown[]) => run([name, ...input]);
  page.dubAnalytics = analytics;
  page._dubAnalytics = { cookies, domains, queryParams };
  if (!needsConsent) {
    if (isPrerendered()) shown.then(startTracking);
    else startTracking();
  }
  for (const call of queued ?? []) run(call);
}

const page = window as unknown as PageWindow;
// A second tag would report everything twice.
if (!page._dubAnalytics) start(page);
