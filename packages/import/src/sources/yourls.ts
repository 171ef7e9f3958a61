import { addressOf, countsOf, fieldsOf } from '../model/fields.js';
import type { MapRecord } from '../model/source-link.js';

/** A link of YOURLS: a row of its table `yourls_url`, or a link of its API, which has the whole address in place of the keyword. */
export const yourlsLinks: MapRecord = (record, { timezone }) => {
  const fields = fieldsOf(record, timezone);
  const keyword = fields.text('keyword');
  const address =
    keyword === null ? addressOf('shorturl', fields.required('shorturl')) : { domain: null, key: keyword };
  fields.lose('ip', fields.take('ip'), 'the address of who made a link is not stored here');
  return [
    {
      ...address,
      fields: { url: fields.required('url'), title: fields.text('title') },
      tags: [],
      folder: null,
      createdAt: fields.time('timestamp'),
      counts: countsOf({ clicks: fields.count('clicks') }),
      sourceId: null,
      lost: fields.lost(),
    },
  ];
};
