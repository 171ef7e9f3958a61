import { apiHost } from './settings.js';

/** Browsers refuse a call with `keepalive` if it and those that are under way have more bytes in their bodies. */
const KEEPALIVE_BYTES_MAX = 65_536;
let bytesUnderWay = 0;

/**
 * Posts to the API, also while the page is being left, unless its bodies under way are too long together.
 *
 * @returns the answer; undefined, with a line in the console, when the call failed
 */
export async function send<T>(path: string, body: object, key?: string | null): Promise<T | undefined> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  if (key) headers.Authorization = `Bearer ${key}`;
  let keptBytes = 0;
  try {
    const text = JSON.stringify(body);
    const { size } = new Blob([text]);
    const keepalive = bytesUnderWay + size <= KEEPALIVE_BYTES_MAX;
    if (keepalive) {
      keptBytes = size;
      bytesUnderWay += size;
    }
    const response = await fetch(`${apiHost}/track/${path}`, {
      method: 'POST',
      headers,
      body: text,
      keepalive,
    });
    const answer = await response.json();
    if (response.ok) return answer;
    console.error(`[dubAnalytics] ${path}`, answer.error);
  } catch (error) {
    console.error(`[dubAnalytics] ${path}`, error);
  } finally {
    bytesUnderWay -= keptBytes;
  }
  return undefined;
}
