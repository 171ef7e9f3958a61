/** Values of generated events, the most frequent first. */

export const COUNTRIES = (
  'US IN GB DE BR FR CA JP AU NL ES IT MX ID PL SE TR KR SG CH BE AR ZA AE IE DK NO FI PT AT NZ IL CL CO PH VN TH MY NG EG ' +
  'KE PK BD UA RO CZ GR HU SA PE MA HK TW RU LK GH TN EC RS IS'
).split(' ');

/** Continent of each country, in the same order. */
export const CONTINENTS = (
  'NA AS EU EU SA EU NA AS OC EU EU EU NA AS EU EU AS AS AS EU EU SA AF AS EU EU EU EU EU EU OC AS SA SA AS AS AS AS AF AF ' +
  'AF AS AS EU EU EU EU EU AS SA AF AS AS EU AS AF AF SA EU EU'
).split(' ');

export const CITIES = 20_000;
export const REGIONS_OF_COUNTRY = 12;

interface Client {
  readonly device: string;
  readonly browser: string;
  readonly os: string;
  /** `%` stands for the version. */
  readonly userAgent: string;
}

export const CLIENTS: readonly Client[] = [
  {
    device: 'Desktop',
    browser: 'Chrome',
    os: 'Windows',
    userAgent:
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%.0.0.0 Safari/537.36',
  },
  {
    device: 'Mobile',
    browser: 'Mobile Safari',
    os: 'iOS',
    userAgent:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/%.0 Mobile/15E148 Safari/604.1',
  },
  {
    device: 'Mobile',
    browser: 'Chrome',
    os: 'Android',
    userAgent:
      'Mozilla/5.0 (Linux; Android 15; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%.0.0.0 Mobile Safari/537.36',
  },
  {
    device: 'Desktop',
    browser: 'Safari',
    os: 'Mac OS',
    userAgent:
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/%.0 Safari/605.1.15',
  },
  {
    device: 'Desktop',
    browser: 'Firefox',
    os: 'Linux',
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:%.0) Gecko/20100101 Firefox/%.0',
  },
  {
    device: 'Desktop',
    browser: 'Edge',
    os: 'Windows',
    userAgent:
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%.0.0.0 Safari/537.36 Edg/%.0.0.0',
  },
  {
    device: 'Tablet',
    browser: 'Mobile Safari',
    os: 'iOS',
    userAgent:
      'Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/%.0 Mobile/15E148 Safari/604.1',
  },
];

export const UTM_SOURCES = (
  'google newsletter facebook twitter linkedin instagram youtube reddit tiktok bing partner podcast blog github slack ' +
  'discord quora pinterest medium whatsapp telegram producthunt hackernews yahoo duckduckgo'
).split(' ');
export const UTM_MEDIUMS = 'cpc email social referral organic display affiliate video'.split(' ');
export const CAMPAIGNS = 200;
export const TERMS = 500;
export const REFERER_HOSTS = 300;
export const REFERER_PAGES = 40;
export const LEAD_NAMES = ['Sign up', 'Demo booked', 'Trial started', 'Newsletter', 'Webinar joined'];
export const PLANS = ['free', 'pro', 'team', 'enterprise'];
export const PROCESSORS = ['stripe', 'shopify', 'paddle', 'custom'];
