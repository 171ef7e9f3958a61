import type { Catalog, LinkRecord } from '@waymark/catalog';
import type { Keys, PasswordGate, Unlocking } from './redirect/password/password-gate.js';
import { NOT_FOUND, type Refusal, refusalOf } from './redirect/rules/decision.js';
import { preparedLink } from './redirect/rules/prepared-link.js';

/** Whether a visit is let through to its link. */
export interface Admitted {
  /** What the visitor gets instead of the destination; undefined when the visit is let through. */
  readonly refusal: Refusal | undefined;
  /** The password given is the link's. */
  readonly isPasswordRight: boolean;
  /** When a visitor who tried too many passwords may try again. */
  readonly retryAfterSeconds?: number;
}

/**
 * The rules of a visit (docs/reference/redirects.md), for every way that leads to a link's destination or says something of
 * it: short links, QR codes and previews, opened apps, reports of browsers, answers to pages.
 */
export interface Admission {
  /** Never rejects because a store is away. */
  decide(link: LinkRecord, keys: Keys): Promise<Admitted>;
  /** What {@link decide} comes to, of a link without password whose domain and workspace need no look at a store; else undefined. */
  decideAtOnce(link: LinkRecord): Admitted | undefined;
  /** Whether a visit without password and cookie would be let through. */
  isOpen(link: LinkRecord): Promise<boolean>;
}

export interface AdmissionOptions {
  readonly catalog: {
    readonly domains: Pick<Catalog['domains'], 'findBySlug' | 'freshBySlug'>;
    readonly workspaces: Pick<Catalog['workspaces'], 'exists' | 'isFresh'>;
  };
  readonly passwords: Pick<PasswordGate, 'unlock'>;
  /** Shared by all workspaces: none of them can take it out of service. */
  readonly defaultDomain: string | undefined;
  readonly now: () => number;
}

const WITHOUT_PASSWORD: Unlocking = { lock: 'open', isPasswordRight: false };
const LET_THROUGH: Admitted = { refusal: undefined, isPasswordRight: false };
const NOT_SERVED: Admitted = { refusal: NOT_FOUND, isPasswordRight: false };
const NO_KEYS: Keys = { cookies: undefined, given: null, address: '' };

export function createAdmission({ catalog, passwords, defaultDomain, now }: AdmissionOptions): Admission {
  /** As {@link isServed}, from copies of this process, which nearly every visit finds; undefined without them. */
  function isServedByCopies({ domain, workspaceId }: LinkRecord): boolean | undefined {
    if (!catalog.workspaces.isFresh(workspaceId)) return undefined;
    if (domain === defaultDomain) return true;
    const record = catalog.domains.freshBySlug(domain);
    return record === undefined ? undefined : !record.archived;
  }

  /** A link goes out of service with its domain and its workspace. */
  async function isServed({ domain, workspaceId }: LinkRecord): Promise<boolean> {
    try {
      const [record, hasWorkspace] = await Promise.all([
        domain === defaultDomain ? undefined : catalog.domains.findBySlug(domain),
        catalog.workspaces.exists(workspaceId),
      ]);
      return hasWorkspace && record?.archived !== true;
    } catch {
      // The catalog has logged it. A store that is away takes no link out of service.
      return true;
    }
  }

  /** Rows 4 to 6 for a link that is served. */
  function admitted(link: LinkRecord, unlocking: Unlocking): Admitted {
    const refusal = refusalOf(preparedLink(link), { lock: unlocking.lock, nowMs: now() });
    if (refusal === undefined && unlocking === WITHOUT_PASSWORD) return LET_THROUGH;
    return { ...unlocking, refusal };
  }

  function decideAtOnce(link: LinkRecord): Admitted | undefined {
    if (link.encryptedPassword !== null) return undefined;
    const isServedNow = isServedByCopies(link);
    if (isServedNow === undefined) return undefined;
    return isServedNow ? admitted(link, WITHOUT_PASSWORD) : NOT_SERVED;
  }

  async function decide(link: LinkRecord, keys: Keys): Promise<Admitted> {
    if (!(isServedByCopies(link) ?? (await isServed(link)))) return NOT_SERVED;
    return admitted(link, link.encryptedPassword === null ? WITHOUT_PASSWORD : await passwords.unlock(link, keys));
  }

  return {
    decide,
    decideAtOnce,
    isOpen: async (link) => (await decide(link, NO_KEYS)).refusal === undefined,
  };
}
