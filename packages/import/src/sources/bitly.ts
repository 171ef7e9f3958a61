import { addressOf, countsOf, fieldsOf, tagsOf } from '../model/fields.js';
import { type MapRecord, RowError } from '../model/source-link.js';

const IGNORED = new Set('link references client_id created_by modified_at is_deleted'.split(' '));

/** Maximum further addresses of a bitlink: each becomes a link with its own lines in the reports. */
const ADDRESSES_MAX = 100;

function customAddresses(value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value) || value.some((one) => typeof one !== 'string')) {
    throw new RowError('custom_bitlinks must be a list of addresses');
  }
  if (value.length > ADDRESSES_MAX) throw new RowError(`custom_bitlinks has more than ${ADDRESSES_MAX} addresses`);
  return value as string[];
}

/**
 * Maps a bitlink of bitly's API v4 to one link per address. The first one gets the clicks, which bitly counts for all addresses together.
 */
export const bitlyLinks: MapRecord = (record, { timezone }) => {
  const fields = fieldsOf(record, timezone);
  const first = addressOf('id', fields.text('id') ?? fields.required('link'));
  const further = customAddresses(fields.take('custom_bitlinks')).map((one) => addressOf('custom_bitlinks', one));
  const distinct = new Map([first, ...further].map((address) => [`${address.domain}/${address.key}`, address]));
  const counts = countsOf({ clicks: fields.count('total_clicks') });
  const common = {
    fields: {
      url: fields.required('long_url'),
      title: fields.text('title'),
      archived: fields.flag('archived'),
      expiresAt: fields.time('expiration_at'),
    },
    tags: tagsOf('tags', fields.take('tags')),
    folder: null,
    createdAt: fields.time('created_at'),
    sourceId: null,
    cleared: fields.cleared({ title: 'title', archived: 'archived', expiresAt: 'expiration_at', tags: 'tags' }),
    lost: fields.lost(IGNORED),
  };
  return [...distinct.values()].map((address, index) => ({
    ...common,
    ...address,
    counts: index === 0 ? counts : null,
  }));
};
