/** The header that logs in with the user and the password of an address; `fetch` takes no such address. */
export function authorizationOf(url: string): string {
  const { username, password } = new URL(url);
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** An address without its user and password. */
export function withoutPassword(url: string): string {
  return Object.assign(new URL(url), { username: '', password: '' }).href;
}

/** `fetch` of an address with user and password. */
export function ask(url: string, { headers, ...init }: RequestInit = {}): Promise<Response> {
  const authorization = authorizationOf(url);
  return fetch(withoutPassword(url), { ...init, headers: { ...(headers as object), authorization } });
}
