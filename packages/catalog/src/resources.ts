import { ApiError, createResourceId, type ResourceKind } from '@waymark/contract';
import type { CatalogRecord } from './kind.js';
import type { RecordStore } from './record-store.js';
import { NameTakenError } from './record-writer.js';
import type { FolderRecord, GroupRecord, PartnerRecord, PartnerTagRecord, TagRecord } from './records.js';

type Fields<R extends CatalogRecord> = Omit<R, keyof CatalogRecord>;
/** What a new record must say; the rest has a default. */
type New<R extends CatalogRecord, Required extends keyof Fields<R>> = Partial<Fields<R>> & Pick<Fields<R>, Required>;

export type NewTag = New<TagRecord, 'name'>;
export type NewFolder = New<FolderRecord, 'name'>;
export type NewGroup = New<GroupRecord, 'name' | 'slug'>;
export type NewPartnerTag = New<PartnerTagRecord, 'name'>;
export type NewPartner = New<PartnerRecord, 'name'>;

interface ResourceRules<R extends CatalogRecord, N> {
  readonly resource: ResourceKind;
  /** What people call one. */
  readonly title: string;
  readonly complete: (input: N) => Fields<R>;
}

export const TAG_RULES: ResourceRules<TagRecord, NewTag> = {
  resource: 'tag',
  title: 'tag',
  complete: (input) => ({ color: 'blue', ...input }),
};

export const FOLDER_RULES: ResourceRules<FolderRecord, NewFolder> = {
  resource: 'folder',
  title: 'folder',
  complete: (input) => ({ description: null, type: 'default', accessLevel: 'write', ...input }),
};

export const GROUP_RULES: ResourceRules<GroupRecord, NewGroup> = {
  resource: 'partnerGroup',
  title: 'group',
  complete: (input) => ({ color: null, programId: null, ...input }),
};

export const PARTNER_TAG_RULES: ResourceRules<PartnerTagRecord, NewPartnerTag> = {
  resource: 'partnerTag',
  title: 'partner tag',
  complete: (input) => input,
};

export const PARTNER_RULES: ResourceRules<PartnerRecord, NewPartner> = {
  resource: 'partner',
  title: 'partner',
  complete: (input) => ({
    username: null,
    email: null,
    image: null,
    country: null,
    companyName: null,
    description: null,
    tenantId: null,
    groupId: null,
    programId: null,
    partnerTagIds: [],
    networkStatus: 'draft',
    status: 'approved',
    bannedAt: null,
    bannedReason: null,
    ...input,
  }),
};

/** What is alike for the small resources of a workspace. */
export function createResources<R extends CatalogRecord, N>(
  store: RecordStore<R>,
  { resource, title, complete }: ResourceRules<R, N>,
  now: () => number,
) {
  return {
    get: store.get,
    getMany: store.getMany,

    /** @throws ApiError conflict when its name (a partner's email or tenantId) is taken in the workspace */
    async create(workspaceId: string, input: N): Promise<R> {
      const nowMs = now();
      const time = new Date(nowMs).toISOString();
      const common = { id: createResourceId(resource, nowMs), workspaceId, createdAt: time, updatedAt: time };
      try {
        return await store.create({ ...complete(input), ...common } as R);
      } catch (err) {
        if (!(err instanceof NameTakenError)) throw err;
        throw new ApiError('conflict', `A ${title} "${err.taken.name}" already exists in this workspace.`, {
          cause: err,
        });
      }
    },
  };
}
