import { type ApiOptions, withTemporaryKeys } from '../api/api-access.js';
import { CommandError } from '../command-error.js';
import { createHttpClient } from '../demo/http-client.js';
import { createTraffic, type TrafficTotals } from '../demo/traffic.js';
import { interruptible } from '../interruptible.js';
import { addressOption, numberOption, optionalText, type RawOption } from '../option-values.js';
import type { CommandResult } from '../output.js';
import { withProgress } from '../progress.js';
import { findTarget, withCatalog } from '../stores.js';
import { findWorkspace } from './workspace.js';

export interface DemoOptions extends ApiOptions {
  readonly seconds?: RawOption;
  readonly rate?: RawOption;
  readonly links?: RawOption;
}

const SECONDS_MAX = 3600;
/** At a higher rate, leads and sales would exceed the API's rate limit. */
const RATE_MAX = 300;
const CONNECTIONS_MAX = 32;

function addresses(options: DemoOptions): { readonly api: string; readonly links: string } {
  const { stack, settings } = findTarget();
  const api = addressOption('api', options.api) ?? stack?.api;
  const links = addressOption('links', options.links) ?? stack?.links;
  if (api !== undefined && links !== undefined) return { api, links };
  throw new CommandError(
    `no stack is running on ${settings.dataDir}: start it with \`npm run up\`, or set --api and --links`,
  );
}

function summary(totals: TrafficTotals, seconds: number): string[] {
  const { links, clicks, leads, sales, saleAmount, refused, firstRefusal } = totals;
  return [
    `${clicks} clicks on ${links} links, ${leads} leads, ${sales} sales worth $${(saleAmount / 100).toFixed(2)} in ${seconds.toFixed(1)} s`,
    ...(refused === 0 ? [] : [`${refused} requests failed; the first: ${firstRefusal}`]),
  ];
}

/** The host of the links that the demo makes. @throws CommandError when the workspace has no domain */
function linkDomain(idOrSlug: string): Promise<string> {
  return withCatalog(async (catalog) => {
    const { id } = await findWorkspace(catalog, idOrSlug);
    const domain = await catalog.domains.primary(id);
    if (domain === undefined) throw new CommandError(`workspace "${idOrSlug}" has no domain for links`);
    return domain.slug;
  });
}

/** Sends realistic traffic to the HTTP endpoints for some seconds, with an API key that it creates and then revokes. */
export async function runDemo(options: DemoOptions): Promise<CommandResult> {
  const seconds = numberOption('seconds', options.seconds, { max: SECONDS_MAX });
  const clicksPerSecond = numberOption('rate', options.rate, { max: RATE_MAX });
  const { api, links } = addresses(options);
  const workspace = optionalText('workspace', options.workspace) ?? 'default';
  const domain = await linkDomain(workspace);
  const http = createHttpClient(CONNECTIONS_MAX);
  // An interrupt only ends the traffic earlier.
  return interruptible('interrupted', (signal) =>
    withTemporaryKeys({ workspace, name: 'Demo', scopes: [] }, async (newKey) => {
      const apiKey = await newKey();
      const startedMs = performance.now();
      const traffic = createTraffic({ http, api, links, domain, apiKey, clicksPerSecond, seconds, now: Date.now });
      const { totals } = traffic;
      const read = () => ({
        share: traffic.share(),
        text: `${totals.clicks} clicks, ${totals.leads} leads, ${totals.sales} sales`,
      });
      await withProgress(read, () => traffic.run(signal));
      const elapsed = (performance.now() - startedMs) / 1000;
      return { data: { ...totals, seconds: elapsed }, lines: summary(totals, elapsed) };
    }),
  ).finally(http.close);
}
