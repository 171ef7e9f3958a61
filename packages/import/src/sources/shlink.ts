import { addressOf, countsOf, type Fields, fieldsOf, isObject, tagsOf } from '../model/fields.js';
import type { LinkFields, MapRecord } from '../model/source-link.js';

const IGNORED = new Set(['hasRedirectRules']);

type Targets = Pick<LinkFields, 'ios' | 'android' | 'geo'>;

/** The platform or country that is the only condition of a redirect rule; undefined for all other rules. */
function targetOf(
  conditions: unknown,
): { readonly platform?: 'ios' | 'android'; readonly country?: string } | undefined {
  const [only, ...others] = Array.isArray(conditions) ? conditions : [];
  if (!isObject(only) || others.length > 0) return undefined;
  const { type, matchValue } = only;
  if (type === 'device' && (matchValue === 'ios' || matchValue === 'android')) return { platform: matchValue };
  if (type === 'geolocation-country-code' && typeof matchValue === 'string' && /^[a-z]{2}$/i.test(matchValue)) {
    return { country: matchValue.toUpperCase() };
  }
  return undefined;
}

/** The targets by platform and country. The first redirect rule for each wins; rules with other conditions are reported as lost. */
function targetsOf(fields: Fields): Targets {
  const targets: { ios?: string; android?: string } = {};
  const geo: Record<string, string> = {};
  const ofDevices = fields.take('deviceLongUrls');
  for (const [device, url] of Object.entries(isObject(ofDevices) ? ofDevices : {})) {
    if ((device === 'ios' || device === 'android') && typeof url === 'string') targets[device] = url;
    else fields.reportLost(`deviceLongUrls.${device}`, url, 'is not supported: only ios and android have targets');
  }
  const rules = fields.take('redirectRules');
  for (const rule of Array.isArray(rules) ? rules : []) {
    const { longUrl, conditions } = isObject(rule) ? rule : {};
    const target = typeof longUrl === 'string' ? targetOf(conditions) : undefined;
    if (target?.platform !== undefined) targets[target.platform] ??= longUrl as string;
    else if (target?.country !== undefined) geo[target.country] ??= longUrl as string;
    else
      fields.reportLost(
        'redirectRules',
        rule,
        'is not supported: a rule has one condition, on the device or the country',
      );
  }
  return { ...targets, ...(Object.keys(geo).length === 0 ? {} : { geo }) };
}

/**
 * The targets that an update clears, because the record could have them and does not. A short URL without rules has no `redirectRules`, but
 * `hasRedirectRules: false`; of the targets, `deviceLongUrls` can have those for devices only.
 */
function clearedTargets(targets: Targets, record: unknown): (keyof Targets)[] {
  const { hasRedirectRules, redirectRules, deviceLongUrls } = isObject(record) ? record : {};
  const hasRules = redirectRules !== undefined || hasRedirectRules === false;
  const names = hasRules ? (['ios', 'android', 'geo'] as const) : (['ios', 'android'] as const);
  return hasRules || deviceLongUrls !== undefined ? names.filter((name) => targets[name] === undefined) : [];
}

/** Maps a short URL of Shlink's API v3, to which `redirectRules` were added. Its clicks do not include visits of bots, as in Waymark. */
export const shlinkLinks: MapRecord = (record, { timezone }) => {
  const fields = fieldsOf(record, timezone);
  const shortUrl = fields.text('shortUrl');
  const address = shortUrl === null ? null : addressOf('shortUrl', shortUrl);
  const meta = fieldsOf(fields.take('meta') ?? {}, timezone);
  const visits = fieldsOf(fields.take('visitsSummary') ?? {});
  fields.reportLost('meta.maxVisits', meta.take('maxVisits'), 'is not supported: a link has no limit of visits');
  fields.reportLost('meta.validSince', meta.take('validSince'), 'is not supported: a link has no start time');
  const isForwarding = fields.take('forwardQuery');
  if (isForwarding === false)
    fields.reportLost('forwardQuery', 'false', 'is not supported: parameters of a visit are always passed on');
  const targets = targetsOf(fields);
  const clicks = [visits.count('nonBots'), visits.count('total'), fields.count('visitsCount')];
  return [
    {
      domain: fields.text('domain') ?? address?.domain ?? null,
      key: fields.text('shortCode') ?? address?.key ?? null,
      fields: {
        url: fields.required('longUrl'),
        title: fields.text('title'),
        expiresAt: meta.time('validUntil'),
        doIndex: fields.flag('crawlable'),
        ...targets,
      },
      tags: tagsOf('tags', fields.take('tags')),
      folder: null,
      createdAt: fields.time('dateCreated'),
      counts: countsOf({ clicks: clicks.find((count) => count !== null) ?? null }),
      sourceId: null,
      cleared: [
        ...fields.cleared({ title: 'title', doIndex: 'crawlable', tags: 'tags' }),
        ...meta.cleared({ expiresAt: 'validUntil' }),
        ...clearedTargets(targets, record),
      ],
      lost: fields.lost(IGNORED),
    },
  ];
};
