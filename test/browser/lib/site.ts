import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A customer's site on `http://<any name>.localhost:<port>`; browsers resolve such names to this machine. */
export interface Site {
  url(name: string, path?: string): string;
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

const page = (path: string, tag: string) =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title>` +
  `<link rel="icon" href="data:,">${tag}</head><body><h1>Shop ${path}</h1></body></html>`;

export interface SiteOptions {
  /** The origin that the pages may call; their content policy forbids everything else. */
  readonly api: string;
  /** The origin of a link domain, from which the pages may load a script, and which they may call. */
  readonly links: string;
  /** The script tag of a page, instead of that of {@link TRACKING_SCRIPT}. */
  readonly tagOf: (path: string) => string | undefined;
}

export async function startSite({ api, links, tagOf }: SiteOptions): Promise<Site> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://site').pathname;
    const isScript = path === '/tracking.js';
    response.writeHead(200, {
      'content-type': isScript ? 'text/javascript' : 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; script-src 'self' ${links}; connect-src ${api} ${links}; img-src data:`,
    });
    response.end(isScript ? TRACKING_SCRIPT : page(path, tagOf(path) ?? '<script src="/tracking.js"></script>'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: (name, path = '/') => `http://${name}.localhost:${port}${path}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
