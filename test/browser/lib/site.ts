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

const page = (path: string) =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title>` +
  `<link rel="icon" href="data:,"><script src="/tracking.js"></script></head><body><h1>Shop ${path}</h1></body></html>`;

/** @param api the origin that the pages may call; their content policy forbids everything else */
export async function startSite(api: string): Promise<Site> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://site').pathname;
    const isScript = path === '/tracking.js';
    response.writeHead(200, {
      'content-type': isScript ? 'text/javascript' : 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; script-src 'self'; connect-src ${api}; img-src data:`,
    });
    response.end(isScript ? TRACKING_SCRIPT : page(path));
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
