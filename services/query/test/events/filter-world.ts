import { createResourceId } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import { expect } from 'vitest';
import { aWorkspace, NOW, type TestQuery, type TestWorkspace } from '../test-query.js';

/** A workspace with something for each filter to match. Events are named after their link: `shop`, `blog`, `root` and `bare`. */
export interface FilterWorld {
  readonly workspace: TestWorkspace;
  /** Ids and hosts by name; they replace `{name}` in parameters. */
  readonly names: Readonly<Record<string, string>>;
  /** Names of the listed events, newest first; or for an error its status and the name of the parameter. */
  ask(parameters: string): Promise<string>;
}

export async function aFilterWorld(query: TestQuery): Promise<FilterWorld> {
  const { catalog } = query;
  const workspace = await aWorkspace(query);
  const { id, host } = workspace;
  const otherHost = host.replace('go.', 'to.');
  const program = createResourceId('program', NOW);
  await catalog.workspaces.update(id, { defaultProgramId: program });
  await catalog.domains.create(id, { slug: otherHost });

  const [news, sale] = await Promise.all(['news', 'sale'].map((name) => catalog.tags.create(id, { name })));
  const [spring, secret] = await Promise.all([
    catalog.folders.create(id, { name: 'Spring' }),
    catalog.folders.create(id, { name: 'Secret', accessLevel: null }),
  ]);
  const [gold, silver] = await Promise.all(
    ['gold', 'silver'].map((slug) => catalog.groups.create(id, { name: slug, slug })),
  );
  const [podcast, video] = await Promise.all(
    ['podcast', 'video'].map((name) => catalog.partnerTags.create(id, { name })),
  );
  const [ada, ben] = await Promise.all([
    catalog.partners.create(id, { name: 'Ada', groupId: gold!.id, partnerTagIds: [podcast!.id] }),
    catalog.partners.create(id, { name: 'Ben', groupId: silver!.id, partnerTagIds: [podcast!.id, video!.id] }),
  ]);

  const links = {
    shop: await workspace.aLink({
      key: 'Shop',
      externalId: 'ours/1',
      tenantId: 'tenant-1',
      tagIds: [news!.id, sale!.id],
      folderId: spring.id,
      partnerId: ada.id,
      programId: program,
    }),
    blog: await workspace.aLink({ key: 'blog', tagIds: [sale!.id], folderId: secret.id, partnerId: ben.id }),
    root: (await catalog.links.findByAddress(host, '_root'))!,
    bare: await workspace.aLink({ key: 'bare', domain: otherHost }),
  };
  const clicks: Record<keyof typeof links, EventRow> = {
    shop: workspace.click(links.shop, 5, {
      country: 'US',
      region: 'CA',
      city: 'Los Angeles',
      continent: 'NA',
      os: 'Mac OS',
      url: 'https://acme.com/shop?utm_source=google&utm_medium=cpc&utm_term=a%20b',
    }),
    blog: workspace.click(links.blog, 6, {
      city: 'Paris',
      device: 'Mobile',
      browser: 'Mobile Safari',
      os: 'iOS',
      trigger: 'qr',
      referer: 't.co',
      refererUrl: 'https://t.co/x?y=1',
      url: 'https://acme.com/blog?utm_source=google+ads&utm_campaign=spring&utm_content=x',
    }),
    root: workspace.click(links.root, 7, {
      country: 'CA',
      region: 'QC',
      city: 'Montréal',
      continent: 'NA',
      device: 'Tablet',
      trigger: 'pageview',
      referer: 'news.example',
      refererUrl: 'https://news.example/p',
    }),
    bare: workspace.click(links.bare, 8, {
      country: 'Unknown',
      region: 'Unknown',
      city: 'Unknown',
      continent: '',
      device: 'Unknown',
      browser: 'Unknown',
      os: 'Unknown',
      trigger: 'deeplink',
    }),
  };
  const [eve, fay] = [
    await workspace.aCustomer({ externalId: 'eve' }),
    await workspace.aCustomer({ externalId: 'fay' }),
  ];
  const leads = {
    shop: workspace.lead(clicks.shop, eve, 3, { eventName: 'Sign up', metadata: { plan: 'pro', seats: 25 } }),
    blog: workspace.lead(clicks.blog, fay, 4, { eventName: 'Demo, booked', metadata: { plan: 'free', trial: true } }),
  };
  const sales = {
    shop: workspace.sale(clicks.shop, eve, 1, { saleType: 'recurring', metadata: { items: [{ sku: 'a=1' }] } }),
    blog: workspace.sale(clicks.blog, fay, 2, { saleType: 'new' }),
  };
  await workspace.store({ clicks: Object.values(clicks), leads: Object.values(leads), sales: Object.values(sales) });

  const nameById = new Map(
    [clicks, leads, sales].flatMap((rows) => Object.entries(rows).map(([name, row]) => [row[2], name] as const)),
  );
  const names = {
    host,
    otherHost,
    program,
    news: news!.id,
    sale: sale!.id,
    spring: spring.id,
    secret: secret.id,
    gold: gold!.id,
    silver: silver!.id,
    podcast: podcast!.id,
    video: video!.id,
    ada: ada.id,
    ben: ben.id,
    eve: eve.id,
    shop: links.shop.id,
    blog: links.blog.id,
  };
  return {
    workspace,
    names,
    async ask(parameters) {
      const filled = parameters.replace(/\{(\w+)\}/g, (_token, name: string) => names[name as keyof typeof names]);
      const { status, body } = await workspace.events(filled);
      if (status !== 200) return `${status} ${/: (\w+): /.exec(body.error.message)?.[1] ?? body.error.message}`;
      const ids = body.map((item) => ('eventId' in item ? item.eventId : item.click_id));
      return ids.map((event) => nameById.get(event)).join(' ');
    },
  };
}

/** Compares the events for each query string; a failure shows the query string. */
export async function expectAnswers(
  world: FilterWorld,
  answers: readonly (readonly [string, string])[],
): Promise<void> {
  for (const [parameters, answer] of answers) expect(await world.ask(parameters), parameters).toBe(answer);
}
