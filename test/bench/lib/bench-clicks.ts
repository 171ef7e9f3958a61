import { createEventId } from '@waymark/contract';
import { clickRow, type EventRow } from '@waymark/event-format';

const COUNTRIES = ['US', 'DE', 'FR', 'IN', 'BR', 'GB', 'JP', 'CA'];
const CITIES = ['Austin', 'Berlin', 'Lyon', 'Pune', 'Recife', 'Leeds', 'Osaka', 'Toronto'];
const AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36';

/** A click as ingest queues it: number `index` of a run, on one of a thousand links. */
export function benchClick(index: number): EventRow {
  const timestampMs = Date.now();
  const place = index % COUNTRIES.length;
  return clickRow({
    workspaceId: '1',
    linkId: String(1000 + (index % 1000)),
    clickId: createEventId(timestampMs),
    timestampMs,
    trigger: 'link',
    url: `https://example.com/landing/${index % 50}?utm_source=bench&utm_campaign=c${index % 20}`,
    country: COUNTRIES[place] ?? '',
    region: 'CA',
    city: CITIES[place] ?? '',
    continent: 'NA',
    device: 'Desktop',
    browser: 'Chrome',
    os: 'Windows',
    userAgent: AGENT,
    referer: 'news.example.com',
    refererUrl: 'https://news.example.com/story',
    ip: `203.0.113.${index % 256}`,
  });
}
