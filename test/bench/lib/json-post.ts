/** The text of a POST with an API key and a JSON body, as a kept-alive connection sends it. */
export function jsonPost(token: string, path: string, body: object): string {
  const text = JSON.stringify(body);
  return [
    `POST ${path} HTTP/1.1`,
    'Host: api.bench.test',
    'Content-Type: application/json',
    `Authorization: Bearer ${token}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    '',
    text,
  ].join('\r\n');
}
