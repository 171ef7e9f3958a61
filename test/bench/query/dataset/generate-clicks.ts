import { clickedPlace, linkNumber } from './generate-links.js';
import { array, eventId, isoTime, pickSkewed, skewed, uniform } from './sql.js';
import {
  CAMPAIGNS,
  CITIES,
  CLIENTS,
  CONTINENTS,
  COUNTRIES,
  REFERER_HOSTS,
  REFERER_PAGES,
  REGIONS_OF_COUNTRY,
  TERMS,
  UTM_MEDIUMS,
  UTM_SOURCES,
} from './vocabulary.js';
import { type BenchWorkspace, DAY_MS, SPAN_MS, START_MS, type WorldSizes, workspaceRank } from './world.js';

const HOUR_MS = 3_600_000;

/** Time, visitor and link of a click: clicks grow a little over the months, and vary by the time of day. */
function occurrence({ clicks, seed, workspaces: count }: WorldSizes, workspaces: readonly BenchWorkspace[]): string {
  const u = (stream: number) => uniform(seed, stream);
  const even = `(${SPAN_MS} - ${2 * HOUR_MS}) * pow((number + ${u(1)}) / ${clicks}, 0.8)`;
  return `number, ${even} AS even_ms,
      toUInt64(${START_MS} + even_ms + ${2 * HOUR_MS} * (1 + sin(even_ms * ${(2 * Math.PI) / DAY_MS})) / 2) AS ms,
      ${workspaceRank(count, u(2))} AS rank,
      ${array(workspaces.map(({ id }) => id))}::Array(UInt64)[rank] AS workspace_id,
      ${array(workspaces.map(({ links }) => links))}::Array(UInt64)[rank] AS links,
      ${clickedPlace('links', u(3))} AS place,
      ${linkNumber(seed, 'rank', 'place', 'links')} AS link_id,
      ${eventId('ms', `cityHash64(number, ${seed}, 4)`)} AS click_id`;
}

/** Visitor, location and destination of a click. */
function attributes(seed: number): string {
  const u = (stream: number) => uniform(seed, stream);
  const place = `cityHash64(city_index, ${seed})`;
  const utm = (name: string, share: number, stream: number, value: string) =>
    `if(has_utm AND ${u(stream)} < ${share}, ${value}, '') AS ${name}`;
  const parameter = (name: string, column: string) => `if(${column} = '', '', concat('&${name}=', ${column}))`;
  return `*,
      ${skewed(CITIES, 4, u(5))} AS city_index,
      1 + toUInt64(${COUNTRIES.length} * pow(${place} / 18446744073709551616., 2.5)) AS country_index,
      ${array(COUNTRIES)}[country_index] AS country,
      ${array(CONTINENTS)}[country_index] AS continent,
      concat('R', toString(bitShiftRight(${place}, 20) % ${REGIONS_OF_COUNTRY})) AS region,
      concat('City ', toString(city_index)) AS city,
      1 + ${skewed(CLIENTS.length, 1.7, u(6))} AS client_index,
      ${array(CLIENTS.map(({ device }) => device))}[client_index] AS device,
      ${array(CLIENTS.map(({ browser }) => browser))}[client_index] AS browser,
      ${array(CLIENTS.map(({ os }) => os))}[client_index] AS os,
      replaceAll(${array(CLIENTS.map(({ userAgent }) => userAgent))}[client_index], '%',
        toString(120 + ${skewed(20, 2, u(7))})) AS ua,
      multiIf(${u(8)} < 0.08, 'qr', ${u(9)} < 0.03, 'pageview', ${u(10)} < 0.01, 'deeplink', 'link') AS trigger,
      if(${u(11)} < 0.5, '(direct)', concat('site', toString(${skewed(REFERER_HOSTS, 3, u(12))}), '.example')) AS referer,
      if(referer = '(direct)', '(direct)',
        concat('https://', referer, '/', toString(${skewed(REFERER_PAGES, 2, u(13))}))) AS referer_url,
      concat('https://www.shop', toString(rank), '.example/p/', toString(place % 500)) AS url_base,
      ${u(14)} < 0.6 AS has_utm,
      ${utm('utm_source', 1, 15, pickSkewed(UTM_SOURCES, 2.5, u(16)))},
      ${utm('utm_medium', 0.9, 17, pickSkewed(UTM_MEDIUMS, 1.5, u(18)))},
      ${utm('utm_campaign', 0.8, 19, `concat('campaign-', toString(${skewed(CAMPAIGNS, 2.5, u(20))}))`)},
      ${utm('utm_term', 0.2, 21, `concat('term-', toString(${skewed(TERMS, 2, u(22))}))`)},
      ${utm('utm_content', 0.2, 23, pickSkewed(['banner', 'footer', 'button', 'image'], 1.5, u(24)))},
      concat(url_base, '?ref=', lower(hex(cityHash64(number, ${seed}, 25))), ${parameter('utm_source', 'utm_source')},
        ${parameter('utm_medium', 'utm_medium')}, ${parameter('utm_campaign', 'utm_campaign')},
        ${parameter('utm_term', 'utm_term')}, ${parameter('utm_content', 'utm_content')}) AS url,
      IPv4NumToString(toUInt32(cityHash64(number, ${seed}, 26) % 4294967296)) AS ip`;
}

/** Payload of version 1, in the format of `clickRow`. */
const PAYLOAD = `concat('{"v":1,"click":{"id":"', click_id, '","timestamp":"', ${isoTime('ms')}, '","url":"', url,
      '","continent":"', continent, '","country":"', country, '","city":"', city, '","device":"', device, '","browser":"', browser,
      '","os":"', os, '","region":"', country, '-', region, '","ua":"', ua, '","trigger":"', trigger, '","referer":"', referer,
      '","refererUrl":"', referer_url, '","qr":', if(trigger = 'qr', 'true', 'false'), '}}')`;

/** SQL that inserts `count` clicks from number `first` on, in the order of time. */
export function insertClicks(
  sizes: WorldSizes,
  workspaces: readonly BenchWorkspace[],
  first: number,
  count: number,
): string {
  return `INSERT INTO click_events (workspace_id, timestamp, click_id, link_id, trigger, country, region, city, continent, device,
  browser, os, referer, referer_url, url, url_base, utm_source, utm_medium, utm_campaign, utm_term, utm_content, payload, ip)
SELECT workspace_id, fromUnixTimestamp64Milli(toInt64(ms), 'UTC'), click_id, link_id, trigger, country, region, city, continent,
  device, browser, os, referer, referer_url, url, url_base, utm_source, utm_medium, utm_campaign, utm_term, utm_content,
  ${PAYLOAD}, ip
FROM (
  SELECT ${attributes(sizes.seed)}
  FROM (
    SELECT ${occurrence(sizes, workspaces)}
    FROM numbers(${first}, ${count})
  )
)`;
}
