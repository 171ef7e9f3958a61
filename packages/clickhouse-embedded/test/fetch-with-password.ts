/** The Authorization header for the user and password in a URL; `fetch` refuses such URLs. */
export function authorizationOf(url: string): string {
  const { username, password } = new URL(url);
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** A URL without its user and password. */
export function withoutPassword(url: string): string {
  return Object.assign(new URL(url), { username: '', password: '' }).href;
}

/** `fetch` for a URL with user and password, which are sent in the Authorization header. */
export function fetchWithPassword(url: string, { headers, ...init }: RequestInit = {}): Promise<Response> {
  const authorization = authorizationOf(url);
  return fetch(withoutPassword(url), { ...init, headers: { ...(headers as object), authorization } });
}
