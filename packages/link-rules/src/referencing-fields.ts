import {
  type ApiKeyRecord,
  type FolderRecord,
  isFolderHidden,
  type LinkRecord,
  linkVisibility,
  type WorkspaceRecord,
} from '@waymark/catalog';
import { ApiError, fieldError, type UpdateLinkBody } from '@waymark/contract';
import { type LinkReferences, requestedTags } from './link-references.js';

/** On whose behalf links are created or changed: the workspace, and the permissions of the API key. */
export interface LinkAuthor {
  readonly workspace: WorkspaceRecord;
  readonly apiKey: Pick<ApiKeyRecord, 'role' | 'scopes' | 'userId'>;
}

/** Everything that the validation of a request about links needs. */
export interface LinkContext extends LinkAuthor {
  readonly references: LinkReferences;
  /** The time to which relative dates refer, epoch milliseconds. */
  readonly nowMs: number;
}

/** Fields of a link that refer to other resources; fields that the body does not set are absent. */
type ReferencingFields = Partial<Pick<LinkRecord, 'tagIds' | 'folderId' | 'programId' | 'partnerId' | 'webhookIds'>>;

function unknownReferences(field: string, what: string, names: readonly string[]): ApiError {
  return fieldError('invalid_value', field, `unknown ${what}: ${names.join(', ')}`);
}

function tagsOf({ references }: LinkContext, body: UpdateLinkBody): ReferencingFields {
  const requested = requestedTags(body);
  if (requested === undefined) return {};
  const { ids, names } = requested;
  const unknownIds = ids.filter((id) => !references.tagIds.has(id));
  if (unknownIds.length > 0) throw unknownReferences(body.tagIds == null ? 'tagId' : 'tagIds', 'tags', unknownIds);
  const unknownNames = names.filter((name) => !references.tagIdByName.has(name));
  if (unknownNames.length > 0) throw unknownReferences('tagNames', 'tags', unknownNames);
  return { tagIds: [...new Set([...ids, ...names.flatMap((name) => references.tagIdByName.get(name) ?? [])])] };
}

/** The error when the caller may not change links of a folder; undefined = allowed. */
export function folderWriteRefusal(
  { apiKey }: Pick<LinkContext, 'apiKey'>,
  folder: FolderRecord | undefined,
): ApiError | undefined {
  if (folder === undefined || folder.accessLevel === 'write' || apiKey.role === 'owner') return undefined;
  const name = isFolderHidden(linkVisibility(apiKey), folder) ? '' : ` "${folder.name}"`;
  return new ApiError('forbidden', `You are not allowed to change links of the folder${name}.`);
}

/** @throws ApiError forbidden when the caller may not change links of the folder. `checkFolderVisible` checks what the caller may see. */
export function checkFolderWritable(caller: Pick<LinkContext, 'apiKey'>, folder: FolderRecord | undefined): void {
  const refusal = folderWriteRefusal(caller, folder);
  if (refusal !== undefined) throw refusal;
}

function folderOf(context: LinkContext, { folderId }: UpdateLinkBody): ReferencingFields {
  if (folderId === undefined) return {};
  if (!folderId) return { folderId: null };
  const folder = context.references.folders.get(folderId);
  if (folder === undefined) throw new ApiError('not_found', 'Folder not found.');
  checkFolderWritable(context, folder);
  return { folderId };
}

/**
 * The program and the partner. Without a `partnerId`, the `tenantId` selects the partner; a `tenantId` that no partner has selects none. With a
 * partner that the body selects comes its program, even if the body has none.
 */
function programOf({ references, workspace }: LinkContext, body: UpdateLinkBody): ReferencingFields {
  const { programId, partnerId, tenantId } = body;
  if (programId && programId !== workspace.defaultProgramId) throw new ApiError('not_found', 'Program not found.');
  const isByTenant = partnerId === undefined && Boolean(tenantId);
  const partner = isByTenant
    ? references.partnerByTenant.get(tenantId ?? '')
    : references.partners.get(partnerId ?? '');
  if (partnerId && partner === undefined) throw new ApiError('not_found', 'Partner not found.');
  if (partner !== undefined) {
    return { partnerId: partner.id, programId: programId || partner.programId || workspace.defaultProgramId };
  }
  return {
    ...(programId === undefined ? {} : { programId: programId || null }),
    ...(partnerId === undefined ? {} : { partnerId: null }),
  };
}

function webhooksOf({ references }: LinkContext, { webhookIds }: UpdateLinkBody): ReferencingFields {
  if (webhookIds === undefined) return {};
  const ids = [...new Set(webhookIds ?? [])];
  const unknown = ids.filter((id) => !references.webhookIds.has(id));
  if (unknown.length > 0) throw unknownReferences('webhookIds', 'webhooks', unknown);
  return { webhookIds: ids };
}

/**
 * Validates the tags, folder, program, partner and webhooks of the body, in that order, and returns their ids.
 *
 * @throws ApiError 422 for unknown tags and webhooks, 404 for folder, program and partner, 403 for a folder without write access
 */
export function referencingFields(context: LinkContext, body: UpdateLinkBody): ReferencingFields {
  return {
    ...tagsOf(context, body),
    ...folderOf(context, body),
    ...programOf(context, body),
    ...webhooksOf(context, body),
  };
}
