import type { Link, Partner } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { aCaller, type Caller, DEFAULT_DOMAIN, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let number = 0;

beforeAll(async () => {
  management = await startManagement();
});
afterAll(() => management.close());

async function program({ workspaceId }: Caller) {
  const { defaultProgramId } = await management.catalog.workspaces.withProgram(workspaceId);
  return management.catalog.programs.require(workspaceId, defaultProgramId ?? '');
}

/** Sets the domain of the program, as `waymark workspace update --program-domain` does. */
async function setDomain(caller: Caller, domainId: string | null): Promise<void> {
  const { id } = await program(caller);
  await management.catalog.programs.update(caller.workspaceId, id, () => ({ domainId }));
}

async function addDomain({ workspaceId }: Caller) {
  const slug = `d${number++}.${workspaceId.slice(3).toLowerCase()}.example`;
  return management.catalog.domains.create(workspaceId, { slug });
}

async function enrol(caller: Caller): Promise<string> {
  const name = `partner-${number++}`;
  const answer = await caller.call<Partner>('POST', '/partners', { email: `${name}@example.com`, name });
  expect(answer.status).toBe(201);
  return answer.body.id;
}

async function linkOf(caller: Caller, partnerId: string): Promise<Link> {
  const { status, body } = await caller.call<Link>('POST', '/partners/links', {
    partnerId,
    url: `https://acme.com/${number++}`,
  });
  expect(status).toBe(201);
  return body;
}

async function upsert(caller: Caller, { url }: Link, partnerId: string) {
  const answer = await caller.call<Link>('PUT', '/partners/links/upsert', { partnerId, url, comments: 'again' });
  expect(answer.status).toBe(200);
  return answer.body;
}

describe('the domain of the program', () => {
  it('does not move the link that an upsert finds', async () => {
    const caller = await aCaller(management);
    const partnerId = await enrol(caller);
    const link = await linkOf(caller, partnerId);
    const other = await addDomain(caller);
    await setDomain(caller, other.id);
    const { id, domain, comments } = await upsert(caller, link, partnerId);
    expect([id, domain, comments]).toEqual([link.id, caller.host, 'again']);
    expect((await linkOf(caller, partnerId)).domain).toBe(other.slug);
  });

  it('stays the first own domain of a partner link, whichever domain becomes primary', async () => {
    const caller = await aCaller(management, 'enterprise', false);
    const partnerId = await enrol(caller);
    const shared = await linkOf(caller, partnerId);
    expect([shared.domain, (await program(caller)).domainId]).toEqual([DEFAULT_DOMAIN, null]);

    const first = await addDomain(caller);
    expect((await linkOf(caller, partnerId)).domain).toBe(first.slug);
    const second = await addDomain(caller);
    await caller.call('POST', `/domains/${second.slug}/primary`);
    expect((await linkOf(caller, partnerId)).domain).toBe(first.slug);
    expect((await program(caller)).domainId).toBe(first.id);
    expect((await upsert(caller, shared, partnerId)).domain).toBe(DEFAULT_DOMAIN);
  });

  it.each(['the link of an enrolment', 'a link of an upsert'])('is also set by %s', async (what) => {
    const caller = await aCaller(management);
    const partnerId = await enrol(caller);
    await setDomain(caller, null);
    if (what === 'a link of an upsert') {
      await caller.call('PUT', '/partners/links/upsert', { partnerId, url: 'https://acme.com/new' });
    } else await enrol(caller);
    expect((await program(caller)).domainId).toMatch(/^dom_/);
  });

  it('is the same for links that are made at once', async () => {
    const caller = await aCaller(management);
    const partners = await Promise.all(['a', 'b', 'c'].map(() => enrol(caller)));
    await setDomain(caller, null);
    // As if another domain became primary meanwhile, again and again.
    const { domains } = management.catalog;
    const [own = expect.fail()] = [await domains.primary(caller.workspaceId)];
    const other = { ...(await addDomain(caller)), primary: true };
    let asked = 0;
    const primary = vi.spyOn(domains, 'primary').mockImplementation(async () => (asked++ % 2 === 0 ? own : other));
    onTestFinished(() => primary.mockRestore());
    const links = await Promise.all(partners.map((partnerId) => linkOf(caller, partnerId)));
    expect(asked).toBe(partners.length);
    const { domainId } = await program(caller);
    const { slug } = [own, other].find(({ id }) => id === domainId) ?? expect.fail();
    expect(new Set(links.map(({ domain }) => domain))).toEqual(new Set([slug]));
  });

  it('is not used for new links while it is archived, and stays the domain of the program', async () => {
    const caller = await aCaller(management);
    const partnerId = await enrol(caller);
    const link = await linkOf(caller, partnerId);
    const other = await addDomain(caller);
    const archive = (archived: boolean) => caller.call('PATCH', `/domains/${caller.host}`, { archived });
    await archive(true);
    expect((await linkOf(caller, partnerId)).domain).toBe(other.slug);
    expect((await upsert(caller, link, partnerId)).domain).toBe(caller.host);
    await archive(false);
    expect((await linkOf(caller, partnerId)).domain).toBe(caller.host);
  });

  it('is replaced once it is gone', async () => {
    const caller = await aCaller(management);
    await setDomain(caller, 'dom_00000000000');
    await linkOf(caller, await enrol(caller));
    const { domainId } = await program(caller);
    expect((await management.catalog.domains.get(caller.workspaceId, domainId ?? ''))?.slug).toBe(caller.host);
  });
});
