import type { IncomingHttpHeaders } from 'node:http';
import { ApiError, parseUrl, withoutWww } from '@waymark/contract';

/** Host of the calling page without `www.`, from `Referer` or else from `Origin`; undefined when neither names one. */
function sourceHost(headers: IncomingHttpHeaders): string | undefined {
  for (const header of [headers.referer, headers.origin]) {
    const host = withoutWww(parseUrl(header ?? '')?.hostname ?? '');
    if (host !== '') return host;
  }
  return undefined;
}

function isAllowed(host: string, entry: string): boolean {
  const allowed = entry.toLowerCase();
  return allowed.startsWith('*.') ? host.endsWith(allowed.slice(1)) : host === withoutWww(allowed);
}

/**
 * Rejects calls from pages whose host is not in the workspace's list. An empty list allows all.
 *
 * @throws ApiError forbidden
 */
export function checkHostname(allowedHostnames: readonly string[], headers: IncomingHttpHeaders): void {
  if (allowedHostnames.length === 0) return;
  const host = sourceHost(headers);
  if (host === undefined) throw new ApiError('forbidden', 'This request does not say which page it comes from.');
  if (!allowedHostnames.some((entry) => isAllowed(host, entry))) {
    throw new ApiError('forbidden', `The hostname ${host} is not allowed to send events to this workspace.`);
  }
}
