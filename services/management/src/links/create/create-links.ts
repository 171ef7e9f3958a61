import { linkSight, type NewLink, normaliseKey } from '@waymark/catalog';
import { ApiError, type CreateLinkBody, fieldError, type Link, type LinkError } from '@waymark/contract';
import { domainName } from '../../domains/domain-name.js';
import type { LinkContext } from '../change/named-fields.js';
import type { LinkCaller, LinkParts } from '../link-parts.js';
import { contextOf, newLink } from './create-link.js';
import { checkBulkImage } from './draft-link.js';
import { withinUsage } from './usage.js';

/** @throws ApiError bad_request for two links that ask for one address */
function checkDistinct(bodies: readonly CreateLinkBody[], usualDomain: string | undefined): void {
  const addresses = new Set<string>();
  for (const [index, { domain, key }] of bodies.entries()) {
    if (typeof key !== 'string') continue;
    const address = `${domain ? domainName(domain) : usualDomain}/${normaliseKey(key)}`;
    if (addresses.has(address))
      throw fieldError('invalid_combination', `[${index}].key`, `${address} is asked for twice`, 'bad_request');
    addresses.add(address);
  }
}

/** What is to be created, or why it cannot be. */
async function linkOrFault(parts: LinkParts, context: LinkContext, body: CreateLinkBody): Promise<NewLink | ApiError> {
  try {
    checkBulkImage(body);
    return await newLink(parts, context, body);
  } catch (err) {
    if (err instanceof ApiError && err.status < 500) return err;
    throw err;
  }
}

/**
 * `POST /links/bulk`: up to a hundred links in one insert.
 *
 * @returns the links in the order of the bodies, then what became of the others
 * @throws ApiError forbidden when they are more than the month has room for, bad_request for two of one address
 */
export async function createLinks(
  parts: LinkParts,
  caller: LinkCaller,
  bodies: readonly CreateLinkBody[],
): Promise<(Link | LinkError)[]> {
  const { links } = parts.catalog;
  const workspaceId = caller.workspace.id;
  const context = await contextOf(parts, caller, bodies);
  checkDistinct(bodies, context.references.usualDomain);
  const results = await Promise.all(bodies.map((body) => linkOrFault(parts, context, body)));
  const drafts = results.filter((result): result is NewLink => !(result instanceof ApiError));
  const made = await withinUsage(parts, caller.workspace, bodies.length, () => links.createMany(workspaceId, drafts));
  const records = made.flatMap((result) => (result instanceof ApiError ? [] : [result]));
  const madeFrom = new Map(drafts.map((draft, index) => [draft, made[index]]));
  const errors = bodies.flatMap((link, index): LinkError[] => {
    const result = results[index];
    const fault = result instanceof ApiError ? result : result && madeFrom.get(result);
    return fault instanceof ApiError ? [{ link, error: fault.message, code: fault.code }] : [];
  });
  return [...(await links.objects(workspaceId, records, linkSight(caller.apiKey), true)), ...errors];
}
