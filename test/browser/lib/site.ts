import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

/** A customer's site on `http://<any name>.localhost:<port>`; browsers resolve such names to this machine. */
export interface Site {
  url(name: string, path?: string): string;
  /** Puts tags into the head of the page at a path. */
  addPage(path: string, head: string): void;
  close(): Promise<void>;
}

/** The script that does what the browser package does: posts JSON to the API, with the publishable key for leads and sales. */
const TRACKING_SCRIPT = `
  window.report = async (api, path, body, publishableKey) => {
    const response = await fetch(api + path, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(publishableKey ? { Authorization: 'Bearer ' + publishableKey } : {}),
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  };
`;

/** The published loader, as a bundler would put it into the page, and a page script that calls it with the JSON of its tag. */
const FILES: Readonly<Record<string, string>> = {
  '/tracking.js': TRACKING_SCRIPT,
  '/loader.js': readFileSync(fileURLToPath(import.meta.resolve('@dub/analytics')), 'utf8'),
  '/inject.js': `
    import { inject } from '/loader.js';
    inject(JSON.parse(document.querySelector('meta[name="loader"]').content));
    document.documentElement.dataset.injected = 'true';
  `,
};

const page = (path: string, head: string) =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title>` +
  `<link rel="icon" href="data:,"><script src="/tracking.js"></script>${head}</head><body><h1>Shop ${path}</h1></body></html>`;

/**
 * Starts a server that answers every path with a page.
 *
 * @param api the origin that the pages may call; their content policy forbids everything else
 * @param scripts the origin of the browser script, which they may load and call as well
 */
export async function startSite(api: string, scripts: string): Promise<Site> {
  const heads = new Map<string, string>();
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://site').pathname;
    const script = FILES[path];
    response.writeHead(200, {
      'content-type': script !== undefined ? 'text/javascript' : 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; script-src 'self' ${scripts}; connect-src ${api} ${scripts}; img-src data:`,
    });
    response.end(script ?? page(path, heads.get(path) ?? ''));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    addPage: (path, head) => void heads.set(path, head),
    url: (name, path = '/') => `http://${name}.localhost:${port}${path}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
