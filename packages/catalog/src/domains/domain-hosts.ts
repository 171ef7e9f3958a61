import { ApiError, withoutPort } from '@waymark/contract';
import type { DomainRecord } from '../model/record-schemas.js';
import type { Locks } from '../redis/locks.js';
import type { Creation } from '../store/record-creation.js';
import type { RecordStore } from '../store/record-store.js';
import { underLock } from '../store/write-context.js';

/** Dependencies of {@link createDomainHosts}. */
export interface DomainHostsDeps {
  readonly domains: Pick<RecordStore<DomainRecord>, 'table'>;
  readonly locks: Locks;
  /** Whether a killed creation of a workspace has left the domain behind. */
  readonly isOrphan: (domain: Pick<DomainRecord, 'workspaceId'>) => Promise<boolean>;
}

const hostLock = (slug: string) => `domain-host/${withoutPort(slug)}`;
const doNothing = async () => undefined;

/**
 * Keeps the domains of one host, which differ in their ports, within one workspace. A visit whose host has a port finds the domain without
 * the port first, so a workspace could take over the links of the other one.
 */
export function createDomainHosts({ domains, locks, isOrphan }: DomainHostsDeps) {
  /** Checks that no other workspace has a domain with the same host and another port, or none. @throws ApiError conflict */
  async function check(workspaceId: string, slug: string): Promise<void> {
    const host = withoutPort(slug);
    const condition = '(slug = {host:String} OR startsWith(slug, {start:String})) AND slug != {slug:String}';
    const owners = await domains.table.workspacesWith(condition, { host, start: `${host}:`, slug });
    for (const owner of owners) {
      if (owner !== workspaceId && !(await isOrphan({ workspaceId: owner })))
        throw new ApiError('conflict', `The domain "${slug}" is already in use.`);
    }
  }

  return {
    check,

    /** A step of the creation of a domain, which stores nothing: it locks the host, and checks it under the lock. */
    creationStep: (workspaceId: string, slug: string): Creation => ({
      lockName: hostLock(slug),
      names: [],
      hasRandomNames: false,
      reserved: async () => [],
      async check() {
        await check(workspaceId, slug);
        return [];
      },
      nameRows: () => [],
      insert: doNothing,
      updateCaches: doNothing,
      publish: doNothing,
    }),

    /** Runs `work`, which calls `check` and then gives a domain that slug, while no other request gives a domain the same host. */
    async whileLocked<T>(workspaceId: string, slug: string, work: () => Promise<T>): Promise<T> {
      const lock = await locks.take([hostLock(slug)], { whileBusy: () => check(workspaceId, slug) });
      return underLock(lock, work);
    },
  };
}
export type DomainHosts = ReturnType<typeof createDomainHosts>;
