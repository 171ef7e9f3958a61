import { request } from 'node:http';

export interface Visited {
  readonly status: number;
  readonly location: string;
  /** What the redirect passed on; empty when the visit is not tracked. */
  readonly clickId: string;
}

/** Follows a short link without following its redirect. Unlike `fetch` it may say which host it means. */
export function visit(url: string, headers: Readonly<Record<string, string>>): Promise<Visited> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      response.resume();
      const { location = '' } = response.headers;
      const clickId = URL.canParse(location) ? (new URL(location).searchParams.get('dub_id') ?? '') : '';
      resolve({ status: response.statusCode ?? 0, location, clickId });
    });
    sent.once('error', reject);
    sent.end();
  });
}
