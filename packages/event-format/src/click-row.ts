import type { Trigger } from '@waymark/contract';
import type { EventRow } from './columns.js';
import { mayHaveUtm, utmValues, withoutQuery } from './destination-url.js';
import { ESCAPED_IN_JSON, isoTime, jsonText } from './json-text.js';
import { PAYLOAD_HEAD } from './payload.js';

/** What a click row is made from. Texts are final: `Unknown`, `(direct)` and `''` already applied. */
export interface ClickFacts {
  /** `UInt64` as decimal text. */
  readonly workspaceId: string;
  readonly linkId: string;
  readonly clickId: string;
  /** Epoch milliseconds; the time inside `clickId`. */
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
  /** `''` when it must not be kept. */
  readonly ip: string;
}

/** The row of a click, version 1. */
export function clickRow(facts: ClickFacts): EventRow {
  const refererUrl = withoutQuery(facts.refererUrl);
  const region = facts.region === 'Unknown' ? 'Unknown' : `${facts.country}-${facts.region}`;
  const click =
    `{"id":${jsonText(facts.clickId)},"timestamp":"${isoTime(facts.timestampMs)}","url":${jsonText(facts.url)}` +
    `,"continent":${jsonText(facts.continent)},"country":${jsonText(facts.country)},"city":${jsonText(facts.city)}` +
    `,"device":${jsonText(facts.device)},"browser":${jsonText(facts.browser)},"os":${jsonText(facts.os)}` +
    `,"region":${jsonText(region)},"ua":${jsonText(facts.userAgent)},"trigger":"${facts.trigger}"` +
    `,"referer":${jsonText(facts.referer)},"refererUrl":${jsonText(refererUrl)},"qr":${facts.trigger === 'qr'}}`;
  return [
    facts.workspaceId,
    facts.timestampMs,
    facts.clickId,
    facts.linkId,
    facts.trigger,
    facts.country,
    facts.region,
    facts.city,
    facts.continent,
    facts.device,
    facts.browser,
    facts.os,
    facts.referer,
    refererUrl,
    facts.url,
    withoutQuery(facts.url),
    ...utmValues(facts.url),
    `${PAYLOAD_HEAD}"click":${click}}`,
    facts.ip,
  ];
}

/** Texts of a click that may hold anything; the others are ids, numbers and words of ours. */
function freeTexts({
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
}: ClickFacts): string {
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
 * `JSON.stringify(clickRow(facts))`, written in one go: a redirect builds one for every visit, and a row holds most of its
 * texts twice, the second time as JSON inside the payload.
 */
export function clickRowText(facts: ClickFacts): string {
  if (ESCAPED_IN_JSON.test(freeTexts(facts))) return JSON.stringify(clickRow(facts));
  const { workspaceId, timestampMs, clickId, linkId, trigger, country, city, continent, device, browser, os, url } =
    facts;
  const { region, referer } = facts;
  const refererUrl = withoutQuery(facts.refererUrl);
  const utm = mayHaveUtm(url) ? JSON.stringify(utmValues(url)).slice(1, -1) : '"","","","",""';
  const fullRegion = region === 'Unknown' ? 'Unknown' : `${country}-${region}`;
  return (
    `["${workspaceId}",${timestampMs},"${clickId}","${linkId}","${trigger}","${country}","${region}","${city}","${continent}"` +
    `,"${device}","${browser}","${os}","${referer}","${refererUrl}","${url}","${withoutQuery(url)}",${utm}` +
    `,"{\\"v\\":1,\\"click\\":{\\"id\\":\\"${clickId}\\",\\"timestamp\\":\\"${isoTime(timestampMs)}\\",\\"url\\":\\"${url}\\"` +
    `,\\"continent\\":\\"${continent}\\",\\"country\\":\\"${country}\\",\\"city\\":\\"${city}\\",\\"device\\":\\"${device}\\"` +
    `,\\"browser\\":\\"${browser}\\",\\"os\\":\\"${os}\\",\\"region\\":\\"${fullRegion}\\",\\"ua\\":\\"${facts.userAgent}\\"` +
    `,\\"trigger\\":\\"${trigger}\\",\\"referer\\":\\"${referer}\\",\\"refererUrl\\":\\"${refererUrl}\\",\\"qr\\":${trigger === 'qr'}}}"` +
    `,"${facts.ip}"]`
  );
}
