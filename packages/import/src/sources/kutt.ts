import { addressOf, countsOf, fieldsOf } from '../model/fields.js';
import type { MapRecord } from '../model/source-link.js';

const IGNORED = new Set('id uuid updated_at reuse user_id domain_id'.split(' '));

/** Maps a link of Kutt's API v2. */
export const kuttLinks: MapRecord = (record, { timezone }) => {
  const fields = fieldsOf(record, timezone);
  const link = fields.text('link');
  const address = link === null ? null : addressOf('link', link);
  fields.reportLost('password', fields.take('password'), 'is not returned by the source: set it again');
  fields.reportLost('banned', fields.take('banned'), 'is not imported: the link is created enabled');
  return [
    {
      domain: fields.text('domain') ?? address?.domain ?? null,
      key: fields.text('address') ?? address?.key ?? null,
      fields: {
        url: fields.required('target'),
        comments: fields.text('description'),
        expiresAt: fields.time('expire_in'),
      },
      tags: [],
      folder: null,
      createdAt: fields.time('created_at'),
      counts: countsOf({ clicks: fields.count('visit_count') }),
      sourceId: null,
      cleared: fields.cleared({ comments: 'description', expiresAt: 'expire_in' }),
      lost: fields.lost(IGNORED),
    },
  ];
};
