import type { Catalog, TagRecord, WorkspaceRecord } from '@waymark/catalog';
import { workspaceLimits } from '@waymark/catalog';
import { fieldError, mapErrorFields, randomUInt32, TAG_COLORS, type Tag, type TagBody } from '@waymark/contract';

/** Colors for tags that are created without one. Older SDKs of dub cannot parse an answer with a tag in `gray`. */
const RANDOM_COLORS = TAG_COLORS.filter((color) => color !== 'pink' && color !== 'gray');

function randomColor(): TagRecord['color'] {
  return RANDOM_COLORS[randomUInt32() % RANDOM_COLORS.length] ?? 'blue';
}

/** The tag object of every response. */
export function tagObject({ id, name, color }: TagRecord): Tag {
  return { id, name, color };
}

/** The name of a field as the body has it: `tag` is an alias of `name`. */
const asSent = (body: TagBody) => (field: string) => (field === 'name' && body.tag !== undefined ? 'tag' : field);

/** `POST /tags`. @throws ApiError bad_request without a name, forbidden (quota), conflict */
export function createTag(catalog: Catalog, workspace: WorkspaceRecord, body: TagBody): Promise<TagRecord> {
  const name = body.tag ?? body.name;
  if (name === undefined) throw fieldError('required', 'name', 'is required');
  const { tags } = workspaceLimits(workspace).quotas;
  const tag = { name, color: body.color ?? randomColor() };
  return mapErrorFields(asSent(body), () => catalog.tags.create(workspace.id, tag, tags));
}

/** `PATCH /tags/{id}`. @throws ApiError not_found, conflict */
export function updateTag(catalog: Catalog, workspaceId: string, id: string, body: TagBody): Promise<TagRecord> {
  const name = body.tag ?? body.name;
  const change = (tag: TagRecord) => ({ name: name ?? tag.name, color: body.color ?? tag.color });
  return mapErrorFields(asSent(body), () => catalog.tags.update(workspaceId, id, change));
}
