import { afterAll, beforeAll, test } from 'vitest';
import { startQuery, type TestQuery } from '../test-query.js';
import { aFilterWorld, expectAnswers, type FilterWorld } from './filter-world.js';

let query: TestQuery;
let world: FilterWorld;

beforeAll(async () => {
  query = await startQuery();
  world = await aFilterWorld(query);
});
afterAll(() => query.close());

const ALL = 'shop blog root bare';

/** Parameters, and the events that match. */
const FAMILIES: Record<string, readonly (readonly [string, string])[]> = {
  country: [
    ['country=US', 'shop'],
    ['country=us,fr', 'shop blog'],
    ['country=-US', 'blog root bare'],
    ['country=-US,FR', 'root bare'],
    ['country=-US,-FR', 'root bare'],
    ['country=US,FR,-FR', 'shop'],
    ['country=US,,FR,', 'shop blog'],
    ['country=unknown', 'bare'],
    ['country=', ALL],
    ['country=-,,', ALL],
    ['country=DE', ''],
    ['country=USA', '422 country'],
    ['country=US,United States', '422 country'],
  ],
  city: [
    ['city=Paris', 'blog'],
    ['city=Montr%C3%A9al,Los+Angeles', 'shop root'],
    ['city=-Paris', 'shop root bare'],
    ['city=Paris,-Paris', ''],
    ['city=paris', ''],
    ['city=Unknown', 'bare'],
  ],
  region: [
    ['region=US-CA', 'shop'],
    ['region=CA', 'shop'],
    ['region=US-CA,IDF', 'shop blog'],
    ['region=-US-CA', 'blog root bare'],
    ['region=-US-CA,QC', 'blog bare'],
    ['region=CA,QC,-CA-QC', 'shop'],
    ['region=CA-CA', ''],
    ['region=fr-idf', 'blog'],
    ['region=California', '422 region'],
  ],
  continent: [
    ['continent=NA', 'shop root'],
    ['continent=NA,EU', 'shop blog root'],
    ['continent=-NA', 'blog bare'],
    ['continent=EU,-NA', 'blog'],
    ['continent=Europe', '422 continent'],
    ['continent=EU,XX', '422 continent'],
  ],
  device: [
    ['device=mobile', 'blog'],
    ['device=Desktop,TABLET', 'shop root'],
    ['device=-desktop', 'blog root bare'],
    ['device=desktop,tablet,-tablet', 'shop'],
  ],
  browser: [
    ['browser=mobile safari', 'blog'],
    ['browser=Firefox', 'shop root'],
    ['browser=-firefox,mobile safari', 'bare'],
  ],
  os: [
    ['os=mac os', 'shop'],
    ['os=ios,Windows', 'blog root'],
    ['os=-iOS', 'shop root bare'],
  ],
  trigger: [
    ['trigger=link', 'shop'],
    ['trigger=qr,pageview,deeplink', 'blog root bare'],
    ['trigger=-link', 'blog root bare'],
    ['trigger=qr,link,-qr', 'shop'],
    ['trigger=QR', '422 trigger'],
    ['trigger=email', '422 trigger'],
  ],
  'qr (deprecated)': [
    ['qr=true', 'blog'],
    ['qr=false', 'shop'],
    ['qr=true&trigger=pageview', 'root'],
    ['qr=1', '400 qr'],
  ],
  referer: [
    ['referer=t.co', 'blog'],
    ['referer=(direct)', 'shop bare'],
    ['referer=-(direct)', 'blog root'],
    ['referer=t.co,news.example,-t.co', 'root'],
    ['referer=https://t.co', '422 referer'],
  ],
  refererUrl: [
    ['refererUrl=https://t.co/x', 'blog'],
    ['refererUrl=https://news.example/p,https://t.co/x', 'blog root'],
    ['refererUrl=-https://t.co/x', 'shop root bare'],
    ['refererUrl=https://t.co/', ''],
    ['refererUrl=https%3A%2F%2Ft.co%2Fx%3Fy%3D1', '422 refererUrl'],
  ],
  url: [
    ['url=https://acme.com/shop', 'shop'],
    ['url=https://acme.com/shop,https://acme.com/blog', 'shop blog'],
    ['url=-https://acme.com/shop', 'blog root bare'],
    ['url=https://acme.com/', ''],
    ['url=https%3A%2F%2Facme.com%2Fshop%3Futm_source%3Dgoogle', '422 url'],
  ],
  'utm_*': [
    ['utm_source=google', 'shop'],
    ['utm_source=google ads,google', 'shop blog'],
    ['utm_source=goo', ''],
    ['utm_source=-google', 'blog root bare'],
    ['utm_source=google,google ads,-google', 'blog'],
    ['utm_medium=cpc', 'shop'],
    ['utm_campaign=spring', 'blog'],
    ['utm_campaign=-spring', 'shop root bare'],
    ['utm_term=a b', 'shop'],
    ['utm_content=x', 'blog'],
    ['utm_content=', ALL],
  ],
  eventName: [
    ['event=leads&eventName=Sign up', 'shop'],
    ['event=leads&eventName=-Sign up', 'blog'],
    ['event=leads&eventName=sign up', ''],
    // A comma always separates values, so a value with a comma cannot be matched.
    ['event=leads&eventName=Demo, booked', ''],
    ['event=sales&eventName=Purchase', 'shop blog'],
    ['eventName=Sign up', ALL],
  ],
  customerId: [
    ['customerId={eve}', 'shop'],
    ['customerId=ext_eve', 'shop'],
    ['event=leads&customerId={eve}', 'shop'],
    ['event=sales&customerId=ext_fay', 'blog'],
    ['customerId=cus_none', ''],
    ['customerId=ext_none', ''],
    ['customerId=', ALL],
    ['customerId=eve', ''],
    // A single value: the dash is a part of it.
    ['customerId=-{eve}', ''],
    ['event=sales&customerId=%00', ''],
  ],
  saleType: [
    ['event=sales&saleType=new', 'blog'],
    ['event=sales&saleType=recurring', 'shop'],
    ['event=leads&saleType=new', 'shop blog'],
    ['saleType=recurring', ALL],
    ['event=sales&saleType=old', '422 saleType'],
    ['saleType=', '422 saleType'],
  ],
  query: [
    ["event=leads&query=metadata['plan']:pro", 'shop'],
    ["event=leads&query=metadata['plan']!='pro'", 'blog'],
    ["event=leads&query=metadata['seats'] > 24 OR metadata['trial']:true", 'shop blog'],
    ["event=leads&query=metadata['seats']:* AND NOT metadata['plan']:free", 'shop'],
    ["event=sales&query=metadata['items']['0']['sku']:a%3D1", 'shop'],
    ["event=sales&query=metadata['items']!=*", 'blog'],
    ["query=metadata['plan']:pro", ALL],
    ['query=plan:pro', '422 query'],
    ["event=leads&query=metadata['plan']%3D%3Dpro", '422 query'],
    [`query=${'x'.repeat(10_001)}`, '422 query'],
  ],
  event: [
    ['event=clicks', ALL],
    ['event=leads', 'shop blog'],
    ['event=sales', 'shop blog'],
    ['event=composite', '422 event'],
    ['event=', '422 event'],
  ],
  'sortOrder, order and sortBy': [
    ['sortOrder=asc', 'bare root blog shop'],
    ['sortOrder=asc&order=desc', 'bare root blog shop'],
    ['order=asc', 'bare root blog shop'],
    ['sortBy=timestamp&sortOrder=desc', ALL],
    ['sortOrder=up', '422 sortOrder'],
    ['sortBy=amount', '422 sortBy'],
  ],
  'page and limit': [
    ['limit=2', 'shop blog'],
    ['limit=2&page=2', 'root bare'],
    ['limit=3&page=2&sortOrder=asc', 'shop'],
    ['page=9007199254740991', ''],
    ['limit=0', '422 limit'],
    ['page=0', '422 page'],
    ['page=one', '400 page'],
  ],
  'several together': [
    ['country=US,FR&device=mobile&utm_source=-google', 'blog'],
    ['country=US&city=Paris', ''],
    ['event=leads&country=US&referer=(direct)&eventName=Sign up&root=false', 'shop'],
  ],
};

test.each(Object.entries(FAMILIES))('%s', async (_name, answers) => {
  await expectAnswers(world, answers);
});

test('leads and sales have the attributes of their click', async () => {
  await expectAnswers(world, [
    ['event=leads&country=FR', 'blog'],
    ['event=leads&trigger=-qr', 'shop'],
    ['event=sales&utm_source=google', 'shop'],
    ['event=sales&url=-https://acme.com/shop', 'blog'],
  ]);
});
