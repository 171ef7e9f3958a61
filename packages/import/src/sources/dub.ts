import { type CreateLinkBody, createLinkBodySchema, GEO_COUNTRIES_MAX, TAG_COLORS } from '@waymark/contract';
import { type Fields, fieldsOf, isObject, tagsOf } from '../model/fields.js';
import { type Clearable, type MapRecord, SAME_NAMES, type SourceTag } from '../model/source-link.js';
import { ownCounts, ownFields, passwordOf } from './own-fields.js';

/** Fields that repeat others, or are about the account at dub: they are dropped without a report. */
const IGNORED = new Set(
  'shortLink qrCode tagId projectId workspaceId userId updatedAt lastClicked user lastLeadAt lastConversionAt dubTag'.split(
    ' ',
  ),
);

function coloredTags(fields: Fields): SourceTag[] {
  const value = fields.take('tags');
  const colors = new Map(
    (Array.isArray(value) ? value : []).filter(isObject).map(({ name, color }) => [name, color] as const),
  );
  const colored = tagsOf('tags', value).map(({ name }) => {
    const color = TAG_COLORS.find((known) => known === colors.get(name));
    return color === undefined ? { name } : { name, color };
  });
  return [...colored, ...namedTags(fields)];
}

/** The tags of `tagNames`, a field of the body of `POST /links`: a list, or a comma-separated text. */
function namedTags(fields: Fields): SourceTag[] {
  const value = fields.take('tagNames');
  return tagsOf('tagNames', typeof value === 'string' ? value.split(',') : value);
}

/** The name of the folder: the field `folder`, which only files have, or the name of the folder `folderId`. */
function folderOf(fields: Fields, folderNames: ReadonlyMap<string, string> | undefined): string | null {
  const named = fields.take('folder');
  if (typeof named === 'string' && named.trim() !== '') return named.trim();
  fields.reportLost('folder', named, 'is not a name');
  const folderId = fields.text('folderId');
  const folder = folderId === null ? null : (folderNames?.get(folderId) ?? null);
  if (folder === null) fields.reportLost('folderId', folderId, 'is a folder that the key there may not read');
  return folder;
}

/** The fields that the record has without a value. Tags and folder have two names each. */
function clearedOf(fields: Fields): Clearable[] {
  const [byId] = fields.cleared({ folder: 'folderId' });
  const isNamed = (name: string) => (fields.take(name) ?? '') !== '';
  return fields.cleared({ ...SAME_NAMES, ...(byId && { folder: 'folderId' }) }).filter((field) => {
    if (field === 'tags') return namedTags(fields).length === 0;
    return field !== 'folder' || !(isNamed('folder') || isNamed('folderId'));
  });
}

/** The value of a field; null with a reported loss when a body cannot have it. */
function bodyField<Name extends 'geo' | 'testVariants'>(fields: Fields, name: Name): CreateLinkBody[Name] {
  const value = fields.take(name);
  // Checked before the schema, which looks at each country.
  if (isObject(value) && Object.keys(value).length > GEO_COUNTRIES_MAX) {
    fields.reportLost(name, value, `has more than ${GEO_COUNTRIES_MAX} values`);
    return null;
  }
  const parsed = createLinkBodySchema.shape[name].safeParse(value);
  if (parsed.success) return parsed.data as CreateLinkBody[Name];
  fields.reportLost(name, value, `is invalid: ${parsed.error.issues[0]?.message}`);
  return null;
}

/** Maps a link of dub's API, which has the same fields as the API of Waymark. */
export const dubLinks: MapRecord = (record, { timezone, folderNames }) => {
  const fields = fieldsOf(record, timezone);
  const folder = folderOf(fields, folderNames);
  const isDisabled = fields.take('disabledAt');
  fields.reportLost('disabledAt', isDisabled, 'is not imported: the link is created enabled');
  for (const name of ['programId', 'partnerId', 'webhookIds']) {
    fields.reportLost(name, fields.take(name), 'names a record of the account there');
  }
  return [
    {
      domain: fields.text('domain'),
      key: fields.text('key'),
      fields: {
        ...ownFields(fields),
        url: fields.text('url') ?? '',
        password: passwordOf(fields),
        geo: bodyField(fields, 'geo'),
        testVariants: bodyField(fields, 'testVariants'),
      },
      tags: coloredTags(fields),
      folder,
      createdAt: fields.time('createdAt'),
      counts: ownCounts(fields),
      sourceId: fields.text('id'),
      cleared: clearedOf(fields),
      lost: fields.lost(IGNORED),
    },
  ];
};
