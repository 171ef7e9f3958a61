import { expect } from 'vitest';
import type { ApiProcess, TwoApis } from './two-apis.js';

/** Writes through one process, and immediate reads through both. */

/** A random step: the action, the process that executes it, and a number that selects one of the possible targets. */
export interface Step {
  readonly action: Action;
  readonly process: number;
  readonly pick: number;
}

interface Named {
  readonly id: string;
  name: string;
}
interface WrittenLink {
  readonly id: string;
  key: string;
  url: string;
  tagIds: string[];
  folderId: string | null;
}
interface Page<T> {
  readonly result: readonly T[];
}

/** Few keys, so that keys of removed links are reused, and were looked up before. */
const KEYS = ['one', 'two', 'three', 'four'];
const OK = 200;
const NOT_FOUND = 404;

/** The expected state after the successful writes, the steps that change it, and the reads that check it. */
export class WrittenWorld {
  readonly #two: TwoApis;
  readonly #links: WrittenLink[] = [];
  readonly #tags: Named[] = [];
  readonly #folders: Named[] = [];
  readonly #domains: Named[] = [];
  readonly #customers: Named[] = [];
  readonly #partners: Named[] = [];
  readonly #webhooks: Named[] = [];
  #numbers = 0;

  constructor(two: TwoApis) {
    this.#two = two;
  }

  /** @returns whether the action had a target */
  async take({ action, process, pick }: Step): Promise<boolean> {
    const [first, second] = this.#two.apis;
    const [writer, other] = process === 0 ? [first, second] : [second, first];
    const act: (this: this, writer: ApiProcess, readers: ApiProcess[], pick: number) => Promise<unknown> =
      ACTIONS[action];
    return (await act.call(this, writer, [other, writer], pick)) !== false;
  }

  #unique(what: string): string {
    this.#numbers += 1;
    return `${what} ${this.#numbers}`;
  }

  async createLink({ dub }: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const used = new Set(this.#links.map(({ key }) => key));
    const key = [...KEYS.slice(pick % KEYS.length), ...KEYS].find((one) => !used.has(one));
    if (key === undefined) return false;
    for (const reader of readers) expect((await reader.visit(this.#two.domain, `/${key}`)).status).toBe(NOT_FOUND);
    const url = `https://written.example/${this.#unique('new').replace(' ', '-')}`;
    const [tag, folder] = [at(this.#tags, pick), at(this.#folders, pick)];
    const { id } = await dub.links.create({
      ...{ domain: this.#two.domain, key, url },
      ...(tag && { tagIds: [tag.id] }),
      ...(folder && { folderId: folder.id }),
    });
    const link = { id, key, url, tagIds: tag ? [tag.id] : [], folderId: folder?.id ?? null };
    this.#links.push(link);
    for (const reader of readers) await this.#seeLink(reader, link);
    return true;
  }

  async changeLink({ dub }: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const link = at(this.#links, pick);
    if (link === undefined) return false;
    const [before, tag] = [link.key, at(this.#tags, pick)];
    link.url = `https://written.example/${this.#unique('changed').replace(' ', '-')}`;
    link.tagIds = tag === undefined ? [] : [tag.id];
    const free = KEYS.find((key) => this.#links.every((other) => other.key !== key));
    if (pick % 2 === 0 && free !== undefined) link.key = free;
    const { key, url, tagIds } = link;
    await dub.links.update(link.id, { key, url, tagIds });
    for (const reader of readers) {
      await this.#seeLink(reader, link);
      if (before !== key) expect((await reader.visit(this.#two.domain, `/${before}`)).status).toBe(NOT_FOUND);
    }
    return true;
  }

  async changeLinks({ dub }: ApiProcess, readers: ApiProcess[]): Promise<boolean> {
    if (this.#links.length === 0) return false;
    const url = `https://written.example/${this.#unique('bulk').replace(' ', '-')}`;
    await dub.links.updateMany({ linkIds: this.#links.map(({ id }) => id), data: { url } });
    for (const link of this.#links) link.url = url;
    for (const reader of readers) for (const link of this.#links) await this.#seeLink(reader, link);
    return true;
  }

  async removeLink({ dub }: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const link = taken(this.#links, pick);
    if (link === undefined) return false;
    await dub.links.delete(link.id);
    for (const reader of readers) {
      expect((await reader.visit(this.#two.domain, `/${link.key}`)).status).toBe(NOT_FOUND);
      await missing(reader, `/links/info?linkId=${link.id}`);
      await this.#seeLinkIds(reader);
    }
    return true;
  }

  async #seeLink(reader: ApiProcess, { id, key, url, tagIds, folderId }: WrittenLink): Promise<void> {
    const { domain } = this.#two;
    const shown = { id, key, url };
    expect(await reader.visit(domain, `/${key}`)).toEqual({ status: 302, location: url });
    expect(await found(reader, `/links/info?linkId=${id}`)).toMatchObject({ ...shown, folderId });
    const info = await found<{ tags: Named[] }>(reader, `/links/info?domain=${domain}&key=${key}`);
    expect(info).toMatchObject(shown);
    expect(info.tags.map((tag) => ({ id: tag.id, name: tag.name }))).toEqual(
      this.#tags.filter((tag) => tagIds.includes(tag.id)),
    );
    for (const tagId of tagIds) {
      expect(await found<object[]>(reader, `/links?tagIds=${tagId}`)).toContainEqual(expect.objectContaining(shown));
    }
    await this.#seeLinkIds(reader);
  }

  /** Checks lists and counts, of all links and with filters. */
  async #seeLinkIds(reader: ApiProcess): Promise<void> {
    const ids = (links: readonly { id: string }[]) => links.map(({ id }) => id).sort();
    const listed = await found<Named[]>(reader, '/links?search=written.example');
    expect(ids(listed)).toEqual(ids(this.#links));
    expect(await found(reader, '/links/count?search=written.example')).toBe(this.#links.length);
  }

  async createTag({ dub }: ApiProcess, readers: ApiProcess[]): Promise<void> {
    const name = this.#unique('tag');
    const { id } = await dub.tags.create({ name });
    this.#tags.push({ id, name });
    for (const reader of readers) await listed(reader, '/tags', this.#tags);
  }

  async renameTag({ dub }: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const tag = at(this.#tags, pick);
    if (tag === undefined) return false;
    tag.name = this.#unique('tag');
    await dub.tags.update(tag.id, { name: tag.name });
    for (const reader of readers) {
      await listed(reader, '/tags', this.#tags);
      for (const link of this.#links.filter(({ tagIds }) => tagIds.includes(tag.id))) await this.#seeLink(reader, link);
    }
    return true;
  }

  async removeTag(writer: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const tag = taken(this.#tags, pick);
    if (tag === undefined) return false;
    await writer.dub.tags.delete(tag.id);
    for (const link of this.#links) link.tagIds = link.tagIds.filter((id) => id !== tag.id);
    for (const reader of readers) {
      await listed(reader, '/tags', this.#tags);
      for (const link of this.#links) await this.#seeLink(reader, link);
    }
    return true;
  }

  async createFolder({ dub }: ApiProcess, readers: ApiProcess[]): Promise<void> {
    const name = this.#unique('folder');
    const { id } = await dub.folders.create({ name });
    this.#folders.push({ id, name });
    for (const reader of readers) await listed(reader, '/folders', this.#folders);
  }

  async renameFolder({ dub }: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const folder = at(this.#folders, pick);
    if (folder === undefined) return false;
    folder.name = this.#unique('folder');
    await dub.folders.update(folder.id, { name: folder.name });
    for (const reader of readers) await listed(reader, '/folders', this.#folders);
    return true;
  }

  async removeFolder({ dub }: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const folder = taken(this.#folders, pick);
    if (folder === undefined) return false;
    await dub.folders.delete(folder.id);
    for (const link of this.#links) if (link.folderId === folder.id) link.folderId = null;
    for (const reader of readers) {
      await listed(reader, '/folders', this.#folders);
      for (const link of this.#links) await this.#seeLink(reader, link);
    }
    return true;
  }

  async createDomain({ dub }: ApiProcess, readers: ApiProcess[]): Promise<void> {
    const slug = `${this.#unique('d').replace(' ', '')}.acme.example`;
    for (const reader of readers) await missing(reader, `/internal/domain-check?domain=${slug}`);
    const { id } = await dub.domains.create({ slug });
    const domain = { id, name: slug };
    this.#domains.push(domain);
    for (const reader of readers) await this.#seeDomains(reader);
  }

  async renameDomain({ dub }: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const domain = at(this.#domains, pick);
    if (domain === undefined) return false;
    const before = domain.name;
    domain.name = `${this.#unique('d').replace(' ', '')}.acme.example`;
    await dub.domains.update(before, { slug: domain.name });
    for (const reader of readers) {
      await this.#seeDomains(reader);
      await missing(reader, `/internal/domain-check?domain=${before}`);
    }
    return true;
  }

  async removeDomain({ dub }: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const domain = taken(this.#domains, pick);
    if (domain === undefined) return false;
    await dub.domains.delete(domain.name);
    for (const reader of readers) {
      await this.#seeDomains(reader);
      await missing(reader, `/internal/domain-check?domain=${domain.name}`);
    }
    return true;
  }

  async #seeDomains(reader: ApiProcess): Promise<void> {
    const slugs = (await found<{ slug: string }[]>(reader, '/domains?pageSize=100')).map(({ slug }) => slug);
    expect(slugs.sort()).toEqual([this.#two.domain, ...this.#domains.map(({ name }) => name)].sort());
    for (const { name } of this.#domains) await found(reader, `/internal/domain-check?domain=${name}`);
  }

  async createCustomer(writer: ApiProcess, readers: ApiProcess[]): Promise<void> {
    const name = this.#unique('customer');
    // The SDK has no method for this route.
    const { status, body } = await writer.call<Named>('POST', '/customers', { externalId: name, name, country: 'FR' });
    expect(status).toBe(201);
    const { id } = body;
    this.#customers.push({ id, name });
    for (const reader of readers) await this.#seeCustomer(reader, { id, name }, name);
  }

  async leadCustomer(writer: ApiProcess, readers: ApiProcess[]): Promise<void> {
    const name = this.#unique('customer');
    const clickId = await this.#two.aClick(writer);
    await writer.dub.track.lead({ clickId, eventName: 'Sign up', customerExternalId: name, customerName: name });
    const { id } = await found<Named>(writer, `/customers/ext_${encodeURIComponent(name)}`);
    for (const reader of readers) await this.#seeCustomer(reader, { id, name }, name);
  }

  async saleCustomer(writer: ApiProcess, readers: ApiProcess[]): Promise<void> {
    const name = this.#unique('customer');
    const clickId = await this.#two.aClick(writer);
    await writer.dub.track.sale({
      ...{ clickId, amount: 100, paymentProcessor: 'stripe' as const },
      ...{ customerExternalId: name, customerName: name },
    });
    const { id } = await found<Named>(writer, `/customers/ext_${encodeURIComponent(name)}`);
    for (const reader of readers) await this.#seeCustomer(reader, { id, name }, name);
  }

  async renameCustomer({ dub }: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const customer = at(this.#customers, pick);
    if (customer === undefined) return false;
    const externalId = customer.name;
    const name = this.#unique('renamed');
    await dub.customers.update({ id: customer.id, requestBody: { name } });
    for (const reader of readers) await this.#seeCustomer(reader, { id: customer.id, name }, externalId);
    return true;
  }

  async removeCustomer({ dub }: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const customer = taken(this.#customers, pick);
    if (customer === undefined) return false;
    await dub.customers.delete(customer.id);
    for (const reader of readers) {
      await missing(reader, `/customers/${customer.id}`);
      await missing(reader, `/customers/ext_${encodeURIComponent(customer.name)}`);
      await listed(reader, `/customers?externalId=${encodeURIComponent(customer.name)}`, []);
    }
    return true;
  }

  async #seeCustomer(reader: ApiProcess, customer: Named, externalId: string): Promise<void> {
    const external = encodeURIComponent(externalId);
    for (const reference of [customer.id, `ext_${external}`]) {
      expect(await found(reader, `/customers/${reference}`)).toMatchObject({ ...customer, externalId });
    }
    await listed(reader, `/customers?externalId=${external}`, [customer]);
  }

  async createPartner({ dub }: ApiProcess, readers: ApiProcess[]): Promise<void> {
    const name = this.#unique('partner');
    const email = `${name.replace(' ', '-')}@acme.example`;
    const { id } = await dub.partners.create({ name, email });
    this.#partners.push({ id, name });
    for (const reader of readers) {
      await listed(reader, `/partners?email=${email}`, [{ id, name }]);
      await listed(reader, '/partners?pageSize=100', this.#partners);
    }
  }

  async createWebhook(writer: ApiProcess, readers: ApiProcess[]): Promise<void> {
    const name = this.#unique('hook');
    const url = `https://hooks.example/${this.#numbers}`;
    const { status, body } = await writer.call<Named>('POST', '/webhooks', { name, url, triggers: ['link.created'] });
    expect(status).toBe(201);
    this.#webhooks.push({ id: body.id, name });
    for (const reader of readers) await this.#seeWebhooks(reader);
  }

  async renameWebhook(writer: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const hook = at(this.#webhooks, pick);
    if (hook === undefined) return false;
    hook.name = this.#unique('hook');
    expect((await writer.call('PATCH', `/webhooks/${hook.id}`, { name: hook.name })).status).toBe(OK);
    for (const reader of readers) await this.#seeWebhooks(reader);
    return true;
  }

  async removeWebhook(writer: ApiProcess, readers: ApiProcess[], pick: number): Promise<boolean> {
    const hook = taken(this.#webhooks, pick);
    if (hook === undefined) return false;
    expect((await writer.call('DELETE', `/webhooks/${hook.id}`)).status).toBe(OK);
    for (const reader of readers) {
      await missing(reader, `/webhooks/${hook.id}`);
      await this.#seeWebhooks(reader);
    }
    return true;
  }

  async #seeWebhooks(reader: ApiProcess): Promise<void> {
    await listed(reader, '/webhooks', this.#webhooks);
    for (const hook of this.#webhooks) expect(await found(reader, `/webhooks/${hook.id}`)).toMatchObject(hook);
  }
}

function at<T>(list: readonly T[], pick: number): T | undefined {
  return list.length === 0 ? undefined : list[pick % list.length];
}

function taken<T>(list: T[], pick: number): T | undefined {
  return list.length === 0 ? undefined : list.splice(pick % list.length, 1)[0];
}

async function found<Body>(reader: ApiProcess, path: string): Promise<Body> {
  const { status, body } = await reader.call<Body>('GET', path);
  expect([path, status]).toEqual([path, OK]);
  return body;
}

async function missing(reader: ApiProcess, path: string): Promise<void> {
  expect([path, (await reader.call('GET', path)).status]).toEqual([path, NOT_FOUND]);
}

/** Checks that a list contains exactly these items. */
async function listed(reader: ApiProcess, path: string, expected: readonly Named[]): Promise<void> {
  const body = await found<readonly Named[] | Page<Named>>(reader, path);
  const all = 'result' in body ? body.result : body;
  const byId = (one: Named, other: Named) => (one.id < other.id ? -1 : 1);
  expect(all.map(({ id, name }) => ({ id, name })).sort(byId)).toEqual([...expected].sort(byId));
}

const { prototype: world } = WrittenWorld;
const ACTIONS = {
  createLink: world.createLink,
  changeLink: world.changeLink,
  changeLinks: world.changeLinks,
  removeLink: world.removeLink,
  createTag: world.createTag,
  renameTag: world.renameTag,
  removeTag: world.removeTag,
  createFolder: world.createFolder,
  renameFolder: world.renameFolder,
  removeFolder: world.removeFolder,
  createDomain: world.createDomain,
  renameDomain: world.renameDomain,
  removeDomain: world.removeDomain,
  createCustomer: world.createCustomer,
  renameCustomer: world.renameCustomer,
  removeCustomer: world.removeCustomer,
  leadCustomer: world.leadCustomer,
  saleCustomer: world.saleCustomer,
  createPartner: world.createPartner,
  createWebhook: world.createWebhook,
  renameWebhook: world.renameWebhook,
  removeWebhook: world.removeWebhook,
} as const;
export type Action = keyof typeof ACTIONS;
export const ALL_ACTIONS = Object.keys(ACTIONS) as Action[];
