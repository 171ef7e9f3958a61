import { createLinkBodySchema } from '@waymark/contract';
import { addressOf, type Fields, fieldsOf } from '../model/fields.js';
import { parseValue } from '../model/parse-value.js';
import { type MapRecord, RowError, SAME_NAMES } from '../model/source-link.js';
import { ownCounts, ownFields, passwordOf } from './own-fields.js';

/** Other headings for each field, as other systems write them; compared without case, spaces, `_` and `-`. */
const HEADINGS: Readonly<Record<string, string>> = {
  url: 'longurl destination destinationurl target targeturl originalurl originallink',
  key: 'shortcode keyword slashtag path slug alias address backhalf',
  domain: 'domainname hostname',
  shortLink: 'shorturl bitlink link shortlink',
  title: '',
  description: '',
  comments: 'comment notes note',
  tags: 'tag tagnames labels',
  folder: 'foldername',
  createdAt: 'created datecreated createddate creationdate timestamp',
  expiresAt: 'expires expiry expirein expirationdate validuntil',
  expiredUrl: '',
  archived: '',
  ios: 'iphoneurl iosurl iostarget',
  android: 'androidurl androidtarget',
  geo: 'geotargets',
  password: '',
  proxy: '',
  rewrite: 'cloaking',
  doIndex: 'crawlable',
  image: '',
  video: '',
  publicStats: '',
  trackConversion: '',
  tenantId: '',
  externalId: '',
  testVariants: '',
  testStartedAt: '',
  testCompletedAt: '',
  utm_source: '',
  utm_medium: '',
  utm_campaign: '',
  utm_term: '',
  utm_content: '',
  clicks: 'totalclicks clickcount visits visitscount visitcount',
  leads: '',
  conversions: '',
  sales: '',
  saleAmount: '',
};

const plain = (heading: string) => heading.toLowerCase().replace(/[\s_-]/g, '');

const FIELD_OF = new Map(
  Object.entries(HEADINGS).flatMap(([field, others]) =>
    [plain(field), ...others.split(' ')].filter((one) => one !== '').map((one) => [one, field] as const),
  ),
);

/**
 * The field names for the headings of a table, by {@link HEADINGS}. An unknown heading is its own field name.
 *
 * @throws RowError when two headings name one field, or none names a destination
 */
export function csvFields(headings: readonly string[]): string[] {
  const fields = headings.map((heading) => FIELD_OF.get(plain(heading.trim())) ?? heading.trim());
  for (const [index, field] of fields.entries()) {
    const first = fields.indexOf(field);
    if (first === index || field === '') continue;
    throw new RowError(`the headings "${headings[first]}" and "${headings[index]}" name the same field`);
  }
  if (!fields.includes('url')) {
    throw new RowError('no heading names the destination: one of url, long url, destination, target or original url');
  }
  return fields;
}

function jsonOf(fields: Fields, name: string): unknown {
  const text = fields.text(name);
  if (text === null) return null;
  try {
    return parseValue(name, text);
  } catch (err) {
    if (err instanceof RowError) throw err;
    throw new RowError(`${name} must be JSON`);
  }
}

function structured(fields: Fields) {
  const parsed = createLinkBodySchema
    .pick({ geo: true, testVariants: true })
    .safeParse({ geo: jsonOf(fields, 'geo'), testVariants: jsonOf(fields, 'testVariants') });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new RowError(`${issue?.path.join('.') ?? 'a field'}: ${issue?.message ?? 'is invalid'}`);
}

/** Columns that a report of rejected rows adds to those of the table, and those of an export that have no place in another workspace. */
const IGNORED = new Set(['rejectedRow', 'rejectedReason', 'id', 'updatedAt']);

const trimmed = (text: string | null) => text?.trim() || null;

/** Maps a row of a table, whose fields are named by {@link csvFields}. */
export const csvLinks: MapRecord = (record, { timezone }) => {
  const fields = fieldsOf(record, timezone);
  const shortLink = trimmed(fields.text('shortLink'));
  const address = shortLink === null ? null : addressOf('shortLink', shortLink);
  // In a table without keys, an address that is only a domain is that of the domain's own link.
  const hasKeys = Object.hasOwn(record as object, 'key');
  const tags = (fields.text('tags') ?? '').split(/[,|]/).map((name) => name.trim());
  return [
    {
      domain: trimmed(fields.text('domain'))?.toLowerCase() ?? address?.domain ?? null,
      key: trimmed(fields.text('key')) ?? (hasKeys ? address?.key || null : address?.key) ?? null,
      fields: {
        ...ownFields(fields),
        url: fields.required('url'),
        password: passwordOf(fields),
        ...structured(fields),
      },
      tags: [...new Set(tags)].filter((name) => name !== '').map((name) => ({ name })),
      folder: trimmed(fields.text('folder')),
      createdAt: fields.time('createdAt'),
      counts: ownCounts(fields),
      sourceId: null,
      cleared: fields.cleared(SAME_NAMES),
      lost: fields.lost(IGNORED),
    },
  ];
};
