import { limitedNetwork } from '@waymark/rate-limit';
import { type ClientAddressReader, createClientAddressReader } from '@waymark/visit';
import type { FastifyInstance, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyInstance {
    /** Finds the address of the client that sent a request. */
    readonly readClientAddress: ClientAddressReader;
  }
}

/** Prepares an app for {@link clientAddress}. @param trustedProxies addresses and CIDR ranges whose forwarded headers are accepted */
export function acceptForwardedAddresses(
  app: Pick<FastifyInstance, 'decorate'>,
  trustedProxies: readonly string[],
): void {
  app.decorate('readClientAddress', createClientAddressReader(trustedProxies));
}

/**
 * The address of the client that sent a request, the same as that of a visit; `''` once it has disconnected. Fastify's `request.ip` keeps the
 * brackets and the port that some proxies write into `X-Forwarded-For`.
 */
export function clientAddress({ server, raw }: FastifyRequest): string {
  const forwardedFor = raw.headers['x-forwarded-for']?.toString();
  return server.readClientAddress(raw.socket.remoteAddress, forwardedFor).address;
}

/** The network that counts as the caller of a request wherever callers are limited by network: an IPv4 address or an IPv6 `/64`. */
export function clientNetwork(request: FastifyRequest): string {
  return limitedNetwork(clientAddress(request));
}
