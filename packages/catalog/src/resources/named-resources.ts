import { eachUtmField } from '@waymark/contract';
import { contains, hasId, ifDefined, isOneOf } from '../lists/list-conditions.js';
import { BY_CREATION } from '../lists/record-list.js';
import { folderName, partnerTagName, tagName, utmTemplateName, webhookUrl } from '../model/entity-types.js';
import type {
  FolderRecord,
  GroupRecord,
  PartnerTagRecord,
  ProgramRecord,
  TagRecord,
  UtmTemplateRecord,
  WebhookRecord,
} from '../model/record-schemas.js';
import type { New, ResourceRules } from './resource.js';

export type NewTag = New<TagRecord, 'name'>;
export type NewFolder = New<FolderRecord, 'name'>;
export type NewGroup = New<GroupRecord, 'name' | 'slug'>;
export type NewPartnerTag = New<PartnerTagRecord, 'name'>;
export type NewProgram = New<ProgramRecord, 'name' | 'defaultGroupId'>;
export type NewUtmTemplate = New<UtmTemplateRecord, 'name'>;
export type NewWebhook = New<WebhookRecord, 'name' | 'url' | 'encryptedSecret' | 'triggers'>;

/** Filters of lists of resources that have a name. */
export interface NamedFilters {
  /** Part of the name, in any case. */
  readonly search?: string | undefined;
  /** Public ids. */
  readonly ids?: readonly string[] | undefined;
}

const NAMED_SORTS = { name: { by: 'lowerUTF8(name)' }, createdAt: BY_CREATION } as const;
type NamedSort = keyof typeof NAMED_SORTS;

function namedConditions(
  resource: 'tag' | 'folder' | 'partnerGroup' | 'partnerTag' | 'program' | 'utmTemplate' | 'webhook',
) {
  return ({ search, ids }: NamedFilters) => [
    ...ifDefined(search, (text) => contains(['name'], text)),
    ...ifDefined(ids, (list) => hasId('id', resource, list)),
  ];
}

export const TAG_RULES: ResourceRules<TagRecord, NewTag, NamedFilters, NamedSort> = {
  title: 'tag',
  complete: (input) => ({ color: 'blue', ...input }),
  nameOf: tagName,
  conditions: namedConditions('tag'),
  sorts: NAMED_SORTS,
};

export interface FolderFilters extends NamedFilters {
  /** By default folders with any access level, and those without one. */
  readonly accessLevels?: readonly string[] | undefined;
}

const folderConditions = namedConditions('folder');

export const FOLDER_RULES: ResourceRules<FolderRecord, NewFolder, FolderFilters, NamedSort> = {
  title: 'folder',
  complete: (input) => ({ description: null, type: 'default', accessLevel: 'write', ...input }),
  nameOf: folderName,
  conditions: ({ accessLevels, ...named }) => [
    ...folderConditions(named),
    ...ifDefined(accessLevels, (levels) => isOneOf('access_level', levels)),
  ],
  sorts: NAMED_SORTS,
};

export const GROUP_RULES: ResourceRules<GroupRecord, NewGroup, NamedFilters, NamedSort> = {
  title: 'group',
  complete: (input) => ({ color: null, programId: null, ...input }),
  conditions: namedConditions('partnerGroup'),
  sorts: NAMED_SORTS,
};

export const PARTNER_TAG_RULES: ResourceRules<PartnerTagRecord, NewPartnerTag, NamedFilters, NamedSort> = {
  title: 'partner tag',
  complete: (input) => input,
  nameOf: partnerTagName,
  conditions: namedConditions('partnerTag'),
  sorts: NAMED_SORTS,
};

export const PROGRAM_RULES: ResourceRules<ProgramRecord, NewProgram, NamedFilters, NamedSort> = {
  title: 'program',
  complete: (input) => ({ domainId: null, defaultFolderId: null, url: null, ...input }),
  conditions: namedConditions('program'),
  sorts: NAMED_SORTS,
};

export const UTM_TEMPLATE_RULES: ResourceRules<UtmTemplateRecord, NewUtmTemplate, NamedFilters, NamedSort> = {
  title: 'UTM template',
  complete: (input) => ({ ...eachUtmField(() => null), ...input }),
  nameOf: utmTemplateName,
  conditions: namedConditions('utmTemplate'),
  sorts: NAMED_SORTS,
};

export const WEBHOOK_RULES: ResourceRules<WebhookRecord, NewWebhook, NamedFilters, NamedSort> = {
  title: 'webhook',
  complete: (input) => ({
    linkScope: null,
    folderIds: [],
    hasLinksToDetach: false,
    consecutiveFailures: 0,
    disabledAt: null,
    ...input,
  }),
  nameOf: webhookUrl,
  conditions: namedConditions('webhook'),
  sorts: NAMED_SORTS,
};
