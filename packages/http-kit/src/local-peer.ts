import type { FastifyRequest } from 'fastify';

const LOOPBACK_PEER = /^(?:127\.|::1$|::ffff:127\.)/;
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/i;
/** A proxy on this machine speaks for somebody else; browsers of this machine speak for pages from anywhere. */
const HEADERS_OF_OTHERS = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
  'origin',
  'sec-fetch-site',
];

/** Whether a program of this machine asks for itself. */
export function isLocalPeer(request: Pick<FastifyRequest, 'raw' | 'headers'>): boolean {
  const { headers, raw } = request;
  if (!LOOPBACK_PEER.test(raw.socket.remoteAddress ?? '')) return false;
  return LOOPBACK_HOST.test(headers.host ?? '') && HEADERS_OF_OTHERS.every((name) => headers[name] === undefined);
}
