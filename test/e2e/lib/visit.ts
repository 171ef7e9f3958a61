import { request } from 'node:http';

/** The response to a visit of a short link. */
export interface Visited {
  readonly status: number;
  readonly location: string;
  /** The click id in the destination; empty when the visit is not tracked. */
  readonly clickId: string;
}

/** Requests a short link without following its redirect. Unlike `fetch` it can set the Host header. */
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
