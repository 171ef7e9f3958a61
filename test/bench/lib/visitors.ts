import { request } from 'node:http';

const AGENTS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
  'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
];

/** The request of visitor number `index`: an address, a user agent, the headers of an edge and a browser, and those in `more`. */
export function visitorRequest(host: string, key: string, index: number, more: readonly string[] = []): string {
  const address = `${11 + ((index >>> 24) & 63)}.${(index >>> 16) & 255}.${(index >>> 8) & 255}.${index & 255}`;
  return [
    `GET /${key} HTTP/1.1`,
    `Host: ${host}`,
    `User-Agent: ${AGENTS[index % AGENTS.length]}`,
    'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'Accept-Language: en-US,en;q=0.5',
    'Referer: https://news.example.com/story',
    `X-Forwarded-For: ${address}`,
    'CF-IPCountry: US',
    ...more,
    '\r\n',
  ].join('\r\n');
}

/** Records a click on a short link. Not by `fetch`, which cannot set the Host header. @returns its id, for conversions */
export function recordClick(port: number, host: string, key: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { host, 'user-agent': AGENTS[0] };
    const sent = request({ port, path: `/${key}`, headers }, (answer) => {
      answer.resume();
      resolve(new URL(answer.headers.location ?? '').searchParams.get('dub_id') ?? '');
    });
    sent.once('error', reject).end();
  });
}
