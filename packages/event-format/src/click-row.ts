import type { Trigger } from '@waymark/contract';
import type { EventRow } from './columns.js';
import { mayHaveUtm, utmValues, withoutQuery } from './destination-url.js';
import { ESCAPED_IN_JSON, isoTime, jsonText } from './json-text.js';
import { PAYLOAD_HEAD } from './payload.js';

/** The fields of a click. Placeholders (`Unknown`, `(direct)`, `''`) are already filled in. */
export interface ClickFields {
  /** `UInt64` as decimal text. */
  readonly workspaceId: string;
  readonly linkId: string;
  readonly clickId: string;
  /** Epoch milliseconds; must be the time in `clickId`. */
  readonly timestampMs: number;
  readonly trigger: Trigger;
  /** Final destination, query included, without `dub_id`. */
  readonly url: string;
  readonly country: string;
  /** Subdivision only (`CA`), or `Unknown`. */
  readonly region: string;
  readonly city: string;
  readonly continent: string;
  readonly device: string;
  readonly browser: string;
  readonly os: string;
  readonly userAgent: string;
  readonly referer: string;
  /** The whole Referer header, or `(direct)`; its query is cut off before it is stored. */
  readonly refererUrl: string;
  /** `''` when the IP address must not be stored. */
  readonly ip: string;
}

/** Builds the row of a click, version 1. */
export function clickRow(fields: ClickFields): EventRow {
  const refererUrl = withoutQuery(fields.refererUrl);
  const region = fields.region === 'Unknown' ? 'Unknown' : `${fields.country}-${fields.region}`;
  const click =
    `{"id":${jsonText(fields.clickId)},"timestamp":"${isoTime(fields.timestampMs)}","url":${jsonText(fields.url)}` +
    `,"continent":${jsonText(fields.continent)},"country":${jsonText(fields.country)},"city":${jsonText(fields.city)}` +
    `,"device":${jsonText(fields.device)},"browser":${jsonText(fields.browser)},"os":${jsonText(fields.os)}` +
    `,"region":${jsonText(region)},"ua":${jsonText(fields.userAgent)},"trigger":"${fields.trigger}"` +
    `,"referer":${jsonText(fields.referer)},"refererUrl":${jsonText(refererUrl)},"qr":${fields.trigger === 'qr'}}`;
  return [
    fields.workspaceId,
    fields.timestampMs,
    fields.clickId,
    fields.linkId,
    fields.trigger,
    fields.country,
    fields.region,
    fields.city,
    fields.continent,
    fields.device,
    fields.browser,
    fields.os,
    fields.referer,
    refererUrl,
    fields.url,
    withoutQuery(fields.url),
    ...utmValues(fields.url),
    `${PAYLOAD_HEAD}"click":${click}}`,
    fields.ip,
  ];
}

/** The texts of a click that come from outside, concatenated. All other fields are ids, numbers and fixed words. */
function untrustedTexts({
  url,
  country,
  region,
  city,
  continent,
  device,
  browser,
  os,
  userAgent,
  ...rest
}: ClickFields): string {
  return (
    url +
    country +
    region +
    city +
    continent +
    device +
    browser +
    os +
    userAgent +
    rest.referer +
    rest.refererUrl +
    rest.ip
  );
}

/**
 * A faster `JSON.stringify(clickRow(fields))` for the redirect path, which builds a row for every visit. It skips escaping when no
 * text needs it; `JSON.stringify` would scan most texts twice, because the payload repeats them as JSON inside a JSON string.
 */
export function clickRowText(fields: ClickFields): string {
  if (ESCAPED_IN_JSON.test(untrustedTexts(fields))) return JSON.stringify(clickRow(fields));
  const { workspaceId, timestampMs, clickId, linkId, trigger, country, city, continent, device, browser, os, url } =
    fields;
  const { region, referer } = fields;
  const refererUrl = withoutQuery(fields.refererUrl);
  const utm = mayHaveUtm(url) ? JSON.stringify(utmValues(url)).slice(1, -1) : '"","","","",""';
  const fullRegion = region === 'Unknown' ? 'Unknown' : `${country}-${region}`;
  return (
    `["${workspaceId}",${timestampMs},"${clickId}","${linkId}","${trigger}","${country}","${region}","${city}","${continent}"` +
    `,"${device}","${browser}","${os}","${referer}","${refererUrl}","${url}","${withoutQuery(url)}",${utm}` +
    `,"{\\"v\\":1,\\"click\\":{\\"id\\":\\"${clickId}\\",\\"timestamp\\":\\"${isoTime(timestampMs)}\\",\\"url\\":\\"${url}\\"` +
    `,\\"continent\\":\\"${continent}\\",\\"country\\":\\"${country}\\",\\"city\\":\\"${city}\\",\\"device\\":\\"${device}\\"` +
    `,\\"browser\\":\\"${browser}\\",\\"os\\":\\"${os}\\",\\"region\\":\\"${fullRegion}\\",\\"ua\\":\\"${fields.userAgent}\\"` +
    `,\\"trigger\\":\\"${trigger}\\",\\"referer\\":\\"${referer}\\",\\"refererUrl\\":\\"${refererUrl}\\",\\"qr\\":${trigger === 'qr'}}}"` +
    `,"${fields.ip}"]`
  );
}
