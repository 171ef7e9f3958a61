import { countsOf, type Fields, fieldsOf, tagsOf } from '../model/fields.js';
import type { LinkFields, MapRecord } from '../model/source-link.js';

const IGNORED = new Set(
  'id idString DomainId OwnerId User shortURL secureShortURL updatedAt lcpath source success duplicate'.split(' '),
);

/** A split of Short.io has no start and no end, but an A/B test needs both. */
const [TEST_STARTED_AT, TEST_COMPLETED_AT] = ['2000-01-01T00:00:00.000Z', '2099-12-31T00:00:00.000Z'];

/** Maps a split of visitors between two destinations to an A/B test, which needs conversion tracking. */
function splitOf(fields: Fields, url: string): Partial<LinkFields> {
  const splitUrl = fields.text('splitURL');
  const percentage = fields.count('splitPercent');
  if (splitUrl === null) return {};
  if (percentage !== null && percentage >= 10 && percentage <= 90) {
    const testVariants = [
      { url, percentage: 100 - percentage },
      { url: splitUrl, percentage },
    ];
    return { testVariants, trackConversion: true, testStartedAt: TEST_STARTED_AT, testCompletedAt: TEST_COMPLETED_AT };
  }
  fields.reportLost(
    'splitURL',
    `${splitUrl} (${percentage ?? '?'} %)`,
    'is not supported: a variant of an A/B test has from 10 to 90 percent',
  );
  return {};
}

/** Maps a link of Short.io's API, to which its `domain` was added. */
export const shortIoLinks: MapRecord = (record, { timezone, folderNames }) => {
  const fields = fieldsOf(record, timezone);
  const url = fields.required('originalURL');
  const password = fields.text('password');
  const hasPassword = fields.flag('hasPassword');
  if (password === null) fields.reportLost('hasPassword', hasPassword, 'is not returned by the source: set it again');
  fields.reportLost('clicksLimit', fields.take('clicksLimit'), 'is not supported: a link has no limit of clicks');
  const folderId = fields.text('FolderId');
  const folder = folderId === null ? null : (folderNames?.get(folderId) ?? null);
  if (folder === null) fields.reportLost('FolderId', folderId, 'is a folder whose name the source does not return');
  return [
    {
      domain: fields.text('domain'),
      key: fields.text('path'),
      fields: {
        url,
        title: fields.text('title'),
        archived: fields.flag('archived'),
        ios: fields.text('iphoneURL'),
        android: fields.text('androidURL'),
        expiresAt: fields.time('expiresAt'),
        expiredUrl: fields.text('expiredURL'),
        password,
        rewrite: fields.flag('cloaking'),
        utm_source: fields.text('utmSource'),
        utm_medium: fields.text('utmMedium'),
        utm_campaign: fields.text('utmCampaign'),
        utm_term: fields.text('utmTerm'),
        utm_content: fields.text('utmContent'),
        ...splitOf(fields, url),
      },
      tags: tagsOf('tags', fields.take('tags')),
      folder,
      createdAt: fields.time('createdAt'),
      counts: countsOf({ clicks: fields.count('clicks') }),
      sourceId: null,
      cleared: fields.cleared({
        title: 'title',
        archived: 'archived',
        ios: 'iphoneURL',
        android: 'androidURL',
        expiresAt: 'expiresAt',
        expiredUrl: 'expiredURL',
        rewrite: 'cloaking',
        tags: 'tags',
        password: 'hasPassword',
        testVariants: 'splitURL',
      }),
      lost: fields.lost(IGNORED),
    },
  ];
};
