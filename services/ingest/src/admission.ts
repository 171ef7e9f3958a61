import { type Catalog, isDomainServed, type LinkRecord } from '@waymark/catalog';
import type { PrivacySignal } from '@waymark/contract';
import type { PasswordCredentials, PasswordGate, UnlockResult } from './redirect/password/password-gate.js';
import { NOT_FOUND, type Refusal, refusalOf } from './redirect/rules/decision.js';
import { preparedLink } from './redirect/rules/prepared-link.js';

/** The decision whether a visit may reach the destination of a link. */
export interface AdmissionDecision {
  /** What the visitor gets instead of the destination; undefined when the visit is admitted. */
  readonly refusal: Refusal | undefined;
  /** The visitor sent the correct password. */
  readonly isPasswordCorrect: boolean;
  /** When a visitor who sent too many wrong passwords may try again. */
  readonly retryAfterSeconds?: number;
}

/**
 * Decides who may reach a link's destination (docs/reference/redirects.md). Used by everything that leads to the destination or
 * reveals it: short links, QR codes, previews, app opens, browser reports and responses to pages.
 */
export interface Admission {
  /** Does not reject when a store is unavailable: the link is then served. */
  decide(link: LinkRecord, credentials: PasswordCredentials): Promise<AdmissionDecision>;
  /** Like {@link decide}, synchronously, for a link without password whose domain and workspace are cached; undefined for others. */
  decideFromCache(link: LinkRecord): AdmissionDecision | undefined;
  /** Whether a visit without password and cookie would be admitted. */
  isOpen(link: LinkRecord): Promise<boolean>;
  /**
   * The setting of the link's workspace for visitors who ask not to be tracked; returned synchronously when the workspace is cached. Never
   * rejects: while no store answers it is `no-id`, so that nothing is recorded that identifies the visitor.
   */
  privacySignal(link: Pick<LinkRecord, 'workspaceId'>): PrivacySignal | Promise<PrivacySignal>;
}

export interface AdmissionOptions {
  readonly catalog: {
    readonly domains: Pick<Catalog['domains'], 'findBySlug' | 'freshBySlug'>;
    readonly workspaces: Pick<Catalog['workspaces'], 'forVisit' | 'fresh'>;
  };
  readonly passwords: Pick<PasswordGate, 'unlock'>;
  /** Shared by all workspaces, so that none of them can archive it. */
  readonly defaultDomain: string | undefined;
  readonly now: () => number;
}

const WITHOUT_PASSWORD: UnlockResult = { lock: 'open', isPasswordCorrect: false };
const ADMITTED: AdmissionDecision = { refusal: undefined, isPasswordCorrect: false };
const NOT_SERVED: AdmissionDecision = { refusal: NOT_FOUND, isPasswordCorrect: false };
const NO_CREDENTIALS: PasswordCredentials = { cookies: undefined, password: null, address: '' };

/** Creates the decisions of a process; all parts of it that follow or reveal links share them. */
export function createAdmission({ catalog, passwords, defaultDomain, now }: AdmissionOptions): Admission {
  /** Like {@link isServed}, but from the caches of this process, which nearly always have the records; undefined when they lack them. */
  function isServedFromCache({ domain, workspaceId }: LinkRecord): boolean | undefined {
    if (catalog.workspaces.fresh(workspaceId) === undefined) return undefined;
    const isShared = domain === defaultDomain;
    const record = isShared ? undefined : catalog.domains.freshBySlug(domain);
    return record === undefined && !isShared ? undefined : isDomainServed(domain, record, defaultDomain);
  }

  /** A link is served unless its domain is archived or its workspace deleted. */
  async function isServed({ domain, workspaceId }: LinkRecord): Promise<boolean> {
    try {
      const [record, workspace] = await Promise.all([
        domain === defaultDomain ? undefined : catalog.domains.findBySlug(domain),
        catalog.workspaces.forVisit(workspaceId),
      ]);
      return workspace !== undefined && isDomainServed(domain, record, defaultDomain);
    } catch {
      // The catalog has logged the error. Links stay in service while a store is unavailable.
      return true;
    }
  }

  /** Applies rows 4 to 6 of the table in docs/reference/redirects.md to a link that is served. */
  function decisionOf(link: LinkRecord, unlocking: UnlockResult): AdmissionDecision {
    const refusal = refusalOf(preparedLink(link), { lock: unlocking.lock, nowMs: now() });
    if (refusal === undefined && unlocking === WITHOUT_PASSWORD) return ADMITTED;
    return { ...unlocking, refusal };
  }

  function decideFromCache(link: LinkRecord): AdmissionDecision | undefined {
    if (link.encryptedPassword !== null) return undefined;
    const isServedNow = isServedFromCache(link);
    if (isServedNow === undefined) return undefined;
    return isServedNow ? decisionOf(link, WITHOUT_PASSWORD) : NOT_SERVED;
  }

  async function decide(link: LinkRecord, credentials: PasswordCredentials): Promise<AdmissionDecision> {
    if (!(isServedFromCache(link) ?? (await isServed(link)))) return NOT_SERVED;
    const hasPassword = link.encryptedPassword !== null;
    return decisionOf(link, hasPassword ? await passwords.unlock(link, credentials) : WITHOUT_PASSWORD);
  }

  async function readPrivacySignal(workspaceId: string): Promise<PrivacySignal> {
    try {
      return (await catalog.workspaces.forVisit(workspaceId))?.privacySignal ?? 'ignore';
    } catch {
      // The catalog has logged the error.
      return 'no-id';
    }
  }

  return {
    privacySignal({ workspaceId }) {
      const workspace = catalog.workspaces.fresh(workspaceId);
      return workspace === undefined ? readPrivacySignal(workspaceId) : (workspace.privacySignal ?? 'ignore');
    },
    decide,
    decideFromCache,
    isOpen: async (link) => (await decide(link, NO_CREDENTIALS)).refusal === undefined,
  };
}
