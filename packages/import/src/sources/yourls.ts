import { addressOf, countsOf, fieldsOf } from '../model/fields.js';
import type { MapRecord } from '../model/source-link.js';

/** Maps a link of YOURLS: a row of the table `yourls_url`, or a link of the API, which has the short URL instead of the keyword. */
export const yourlsLinks: MapRecord = (record, { timezone }) => {
  const fields = fieldsOf(record, timezone);
  const keyword = fields.text('keyword');
  const address =
    keyword === null ? addressOf('shorturl', fields.required('shorturl')) : { domain: null, key: keyword };
  fields.reportLost('ip', fields.take('ip'), 'is not stored: it is the IP address from which the link was created');
  return [
    {
      ...address,
      fields: { url: fields.required('url'), title: fields.text('title') },
      tags: [],
      folder: null,
      createdAt: fields.time('timestamp'),
      counts: countsOf({ clicks: fields.count('clicks') }),
      sourceId: null,
      cleared: fields.cleared({ title: 'title' }),
      lost: fields.lost(),
    },
  ];
};
