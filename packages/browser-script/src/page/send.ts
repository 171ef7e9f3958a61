import { apiHost } from './settings.js';

/**
 * Posts to the API, also while the page is being left.
 *
 * @returns the answer; undefined, with a line in the console, when the call failed
 */
export async function send<T>(path: string, body: object, key?: string | null): Promise<T | undefined> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  if (key) headers.Authorization = `Bearer ${key}`;
  try {
    const response = await fetch(`${apiHost}/track/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      keepalive: true,
    });
    const answer = await response.json();
    if (response.ok) return answer;
    console.error(`[dubAnalytics] ${path}`, answer.error);
  } catch (error) {
    console.error(`[dubAnalytics] ${path}`, error);
  }
  return undefined;
}
