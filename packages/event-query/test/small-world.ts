import { idOf, NOW, type World, type WorldClick, type WorldConversion, type WorldLink } from './world.js';

const MINUTE_MS = 60_000;

function aLink(link: Partial<WorldLink> & { readonly number: number }): WorldLink {
  return {
    domain: 'go.acme.com',
    key: `key${link.number}`,
    tenantId: '',
    tags: [],
    folder: 0,
    partner: 0,
    program: 0,
    isRemoved: false,
    ...link,
  };
}

/** A click `minutesAgo` minutes before NOW. */
function aWorldClick(number: number, minutesAgo: number, fields: Partial<WorldClick>): WorldClick {
  const timeMs = NOW - minutesAgo * MINUTE_MS;
  return {
    id: idOf(timeMs, number),
    timeMs,
    link: 1,
    trigger: 'link',
    country: 'FR',
    region: 'IDF',
    city: 'Paris',
    continent: 'EU',
    device: 'Desktop',
    browser: 'Chrome',
    os: 'Mac OS',
    referer: '(direct)',
    refererUrl: '(direct)',
    url: 'https://acme.com/',
    ...fields,
  };
}

const CLICKS = [
  aWorldClick(1, 1, {}),
  aWorldClick(2, 2, { link: 2, country: 'US', region: 'CA', city: 'Los Angeles', continent: 'NA', trigger: 'qr' }),
  aWorldClick(3, 3, {
    link: 3,
    country: 'US',
    region: 'NY',
    city: 'New York',
    continent: 'NA',
    device: 'Mobile',
    os: 'iOS',
  }),
  aWorldClick(4, 4, { link: 4, country: 'DE', region: 'CA', city: 'Berlin', browser: 'Firefox' }),
  aWorldClick(5, 5, {
    link: 5,
    country: 'Unknown',
    region: 'Unknown',
    city: 'Unknown',
    continent: '',
    trigger: 'pageview',
  }),
  aWorldClick(6, 6, {
    url: 'https://acme.com/p?utm_source=news+letter&utm_medium=e-mail&utm_campaign=x&utm_term=a&utm_content=b',
    referer: 't.co',
    refererUrl: 'https://t.co/abc',
  }),
  aWorldClick(7, 7, { link: 6, trigger: 'deeplink' }),
  aWorldClick(8, 26 * 60, { link: 2 }),
  // In the same millisecond as click 1: only the ids differ.
  aWorldClick(9, 1, { city: 'Lyon' }),
] as const;

function aConversion(
  number: number,
  minutesAgo: number,
  click: WorldClick,
  fields: Partial<WorldConversion>,
): WorldConversion {
  const timeMs = NOW - minutesAgo * MINUTE_MS;
  return {
    id: idOf(timeMs, number),
    timeMs,
    eventName: 'Sign up',
    customer: 1,
    saleType: 'new',
    amount: 2900,
    metadata: null,
    click,
    ...fields,
  };
}

const [first, second, third] = CLICKS;

/** A workspace with something for each filter to match. Tests identify events by the number in their id, see `numberIn`. */
export const SMALL_WORLD: World = {
  workspace: 500,
  links: [
    aLink({ number: 1, tags: [1, 2], folder: 1, tenantId: 'tenant-1', partner: 1, program: 1 }),
    aLink({ number: 2, domain: 'b.example', tags: [2], folder: 2 }),
    aLink({ number: 3, domain: 'b.example', key: '_root' }),
    aLink({ number: 4, tenantId: 'tenant-2', partner: 2 }),
    aLink({ number: 5, key: '_root' }),
    aLink({ number: 6, tags: [1], isRemoved: true }),
  ],
  partners: [
    { number: 1, group: 1, tags: [1, 2] },
    { number: 2, group: 2, tags: [2] },
  ],
  clicks: [...CLICKS],
  leads: [
    aConversion(21, 1, first, { metadata: { plan: 'pro', seats: 25, address: { city: 'Paris' } } }),
    aConversion(22, 2, second, { customer: 2, eventName: 'Demo booked', metadata: { plan: 'free', seats: '7' } }),
    aConversion(23, 3, third, { eventName: 'Demo booked' }),
  ],
  sales: [
    aConversion(31, 1, first, { saleType: 'recurring', metadata: { plan: 'pro' } }),
    aConversion(32, 2, second, { customer: 2 }),
  ],
};
