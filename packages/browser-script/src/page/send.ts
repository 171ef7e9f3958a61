import { apiHost } from './settings.js';

/** All bodies that are under way with `keepalive` may have 64 KiB together; browsers refuse a call beyond it. Characters may take three bytes. */
const KEEPALIVE_CHARS_MAX = 4000;

/**
 * Posts to the API, also while the page is being left, unless the body is long.
 *
 * @returns the answer; undefined, with a line in the console, when the call failed
 */
export async function send<T>(path: string, body: object, key?: string | null): Promise<T | undefined> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  if (key) headers.Authorization = `Bearer ${key}`;
  try {
    const text = JSON.stringify(body);
    const response = await fetch(`${apiHost}/track/${path}`, {
      method: 'POST',
      headers,
      body: text,
      keepalive: text.length < KEEPALIVE_CHARS_MAX,
    });
    const answer = await response.json();
    if (response.ok) return answer;
    console.error(`[dubAnalytics] ${path}`, answer.error);
  } catch (error) {
    console.error(`[dubAnalytics] ${path}`, error);
  }
  return undefined;
}
