/** The text of a request with an API key and a JSON body, for a keep-alive connection. */
export function jsonRequest(method: 'POST' | 'PATCH', token: string, path: string, body: object): string {
  const text = JSON.stringify(body);
  return [
    `${method} ${path} HTTP/1.1`,
    'Host: api.bench.test',
    'Content-Type: application/json',
    `Authorization: Bearer ${token}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    '',
    text,
  ].join('\r\n');
}

export const jsonPost = (token: string, path: string, body: object): string => jsonRequest('POST', token, path, body);
