import { addressOf, countsOf, fieldsOf, isObject, tagsOf } from '../model/fields.js';
import type { MapRecord } from '../model/source-link.js';

const IGNORED = new Set(
  'id updatedAt domainId domainName status lastClickAt lastClickDate creator integrated https isPublic'.split(' '),
);

/** Maps a link of Rebrandly's API v1. */
export const rebrandlyLinks: MapRecord = (record, { timezone }) => {
  const fields = fieldsOf(record, timezone);
  const domain = fields.take('domain');
  const fullName = isObject(domain) && typeof domain.fullName === 'string' ? domain.fullName : null;
  const shortUrl = fields.text('shortUrl');
  const address = shortUrl === null ? null : addressOf('shortUrl', shortUrl);
  return [
    {
      domain: fullName ?? address?.domain ?? null,
      key: fields.text('slashtag') ?? address?.key ?? null,
      fields: {
        url: fields.required('destination'),
        title: fields.text('title'),
        description: fields.text('description'),
      },
      tags: tagsOf('tags', fields.take('tags')),
      folder: null,
      createdAt: fields.time('createdAt'),
      counts: countsOf({ clicks: fields.count('clicks') }),
      sourceId: null,
      cleared: fields.cleared({ title: 'title', description: 'description', tags: 'tags' }),
      lost: fields.lost(IGNORED),
    },
  ];
};
