import type { Catalog, LinkRecord } from '@waymark/catalog';
import type { Link, WebhookTrigger } from '@waymark/contract';

/**
 * A link's password is part of what is told of it, and must be in no job and no log in the clear: there a body holds it as the
 * link's record does, encrypted, until it is sent.
 */

type Passwords = Pick<Catalog['links'], 'passwordOf'>;

/** A password as it is stored. */
const SEALED = '"password":"v1.';

/** The link object with its password encrypted. */
export function sealedLink(link: Link, { encryptedPassword }: LinkRecord): Link {
  return { ...link, password: encryptedPassword };
}

interface LinkInBody {
  readonly id: string;
  password: string | null;
}

/** The text to be sent. */
export function openBody(passwords: Passwords, body: string): string {
  // Texts of others are inside JSON strings, where these quotes are escaped.
  if (!body.includes(SEALED)) return body;
  const event = JSON.parse(body) as { event: WebhookTrigger; data: LinkInBody & { link?: LinkInBody } };
  const link = event.event.startsWith('link.') && event.event !== 'link.clicked' ? event.data : event.data.link;
  if (link === undefined) return body;
  link.password = passwords.passwordOf({ id: link.id, encryptedPassword: link.password });
  return JSON.stringify(event);
}
