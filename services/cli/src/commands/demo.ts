import { randomBytes } from 'node:crypto';
import { keyExpiry } from '../api-access.js';
import { CommandError } from '../command-error.js';
import { createHttpClient } from '../demo/http-client.js';
import { createTraffic, type TrafficTotals } from '../demo/traffic.js';
import { optionalText, type RawOption, urlOption } from '../option-values.js';
import type { CommandResult } from '../output.js';
import { startProgressBar } from '../progress-bar.js';
import { findTarget, withCatalog } from '../stores.js';
import { findWorkspace } from './workspace.js';

export interface DemoOptions {
  readonly seconds?: RawOption;
  readonly rate?: RawOption;
  readonly workspace?: RawOption;
  readonly api?: RawOption;
  readonly links?: RawOption;
}

const SECONDS_MAX = 3600;
/** At a higher rate, leads and sales would exceed the API's rate limit. */
const RATE_MAX = 300;
const CONNECTIONS_MAX = 32;

function numberOption(name: string, value: RawOption, maximum: number): number {
  const number = Number(optionalText(name, value));
  if (number > 0 && number <= maximum) return number;
  throw new CommandError(`--${name} must be a number up to ${maximum}`);
}

function addresses(options: DemoOptions): { readonly api: string; readonly links: string } {
  const { stack, settings } = findTarget();
  const api = urlOption('api', options.api) || stack?.api;
  const links = urlOption('links', options.links) || stack?.links;
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

/** Sends realistic traffic to the HTTP endpoints for some seconds, with an API key that it creates and then revokes. */
export async function runDemo(options: DemoOptions): Promise<CommandResult> {
  const seconds = numberOption('seconds', options.seconds, SECONDS_MAX);
  const clicksPerSecond = numberOption('rate', options.rate, RATE_MAX);
  const { api, links } = addresses(options);
  const workspaceName = optionalText('workspace', options.workspace) ?? 'default';
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  process.once('SIGINT', onInterrupt);
  try {
    return await withCatalog(async (catalog) => {
      const { id: workspaceId } = await findWorkspace(catalog, workspaceName);
      const domain = (await catalog.domains.primary(workspaceId))?.slug;
      if (domain === undefined) throw new CommandError(`workspace "${workspaceName}" has no domain for links`);
      const name = `Demo ${randomBytes(3).toString('hex')}`;
      const key = await catalog.keys.create({
        ...{ workspaceId, kind: 'secret', name, role: 'owner', scopes: [], expiresAt: keyExpiry() },
      });
      const http = createHttpClient(CONNECTIONS_MAX);
      const startedAt = Date.now();
      const traffic = createTraffic({
        http,
        api,
        links,
        domain,
        apiKey: key.token,
        clicksPerSecond,
        seconds,
        now: Date.now,
      });
      const { totals } = traffic;
      const bar = startProgressBar(() => ({
        share: traffic.share(),
        text: `${totals.clicks} clicks, ${totals.leads} leads, ${totals.sales} sales`,
      }));
      try {
        await traffic.run(stop.signal);
      } finally {
        bar.stop();
        http.close();
        await catalog.keys.revoke(workspaceId, key.record.id);
      }
      const elapsed = (Date.now() - startedAt) / 1000;
      return { data: { ...totals, seconds: elapsed }, lines: summary(totals, elapsed) };
    });
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}
