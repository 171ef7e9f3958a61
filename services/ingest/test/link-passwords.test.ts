import type { LinkRecord } from '@waymark/catalog';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BROWSER, DOMAIN, startIngest, type TestIngest } from './test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
}, 60_000);
afterAll(() => ingest.stop());

function submit(link: LinkRecord, password: string, query = '') {
  return ingest.linkApp.inject({
    method: 'POST',
    url: `/${link.key}${query}`,
    headers: { host: DOMAIN, 'user-agent': BROWSER, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ password }).toString(),
  });
}

const cookieOf = (answer: Awaited<ReturnType<typeof submit>>) =>
  String([answer.headers['set-cookie']].flat().find((cookie) => cookie?.startsWith('dub_password_')));

describe('links with a password', () => {
  it('show a form that posts to the link itself, and nothing of the link', async () => {
    const { key } = await ingest.link({ password: 'sesame', title: 'Secret', url: 'https://secret.example/x' });
    const answer = await ingest.visit(`/${key}`);
    expect(answer.statusCode).toBe(401);
    expect(answer.body).toContain('<form method="post">');
    expect(answer.body).not.toMatch(/secret/i);
    const policy = String(answer.headers['content-security-policy']);
    expect(policy).toContain("form-action 'self' https: http:;");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('secret');
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('open with the form’s cookie, which is the link’s alone', async () => {
    const link = await ingest.link({ key: 'Deep/Locked', password: 'sésame & co', trackConversion: true });
    const opened = await submit(link, 'sésame & co', '?a=1&pw=old&b=%2F');
    expect(opened.statusCode).toBe(303);
    expect(opened.headers.location).toBe('/Deep/Locked?a=1&b=%2F');
    expect(cookieOf(opened)).toMatch(
      new RegExp(
        `^dub_password_${link.id}=[\\w-]{43}; Path=/Deep/Locked; Max-Age=\\d+; HttpOnly; Secure; SameSite=Lax$`,
      ),
    );
    expect(cookieOf(opened)).not.toContain('same');

    const cookie = cookieOf(opened).split(';')[0] ?? '';
    const visited = await ingest.visit('/Deep/Locked?a=1', { cookie });
    expect(visited.headers.location).toMatch(/^https:\/\/acme\.com\/pricing\?a=1&dub_id=/);

    const other = await ingest.link({ password: 'sésame & co' });
    const forged = cookie.replace(link.id, other.id);
    expect((await ingest.visit(`/${other.key}`, { cookie: forged })).statusCode).toBe(401);
  });

  it('lose their cookies when the password changes', async () => {
    const link = await ingest.link({ password: 'first' });
    const cookie = cookieOf(await submit(link, 'first')).split(';')[0] ?? '';
    const second = await ingest.link({ password: 'second' });
    const { encryptedPassword } = second;
    expect((await ingest.visit(`/${link.key}`, { cookie })).statusCode).toBe(302);
    // What seals a password is bound to its link: this one cannot be read any more, and opens for nobody.
    await ingest.catalog.links.update(ingest.workspaceId, link.id, (record) => ({ ...record, encryptedPassword }));
    expect((await ingest.visit(`/${link.key}`, { cookie })).statusCode).not.toBe(302);
  });

  it('show the form again for a wrong password', async () => {
    const link = await ingest.link({ password: 'right' });
    for (const password of ['wrong', '', 'right ', 'RIGHT']) {
      const answer = await submit(link, password);
      expect(answer.statusCode).toBe(401);
      expect(answer.headers['set-cookie']).toBeUndefined();
    }
  });

  it('take thirty tries in ten minutes, by form and query together, and then not even the right password', async () => {
    const link = await ingest.link({ password: 'right' });
    for (let time = 0; time < 40; time++) expect((await submit(link, 'right')).statusCode).toBe(303);
    const cookie = cookieOf(await submit(link, 'right')).split(';')[0] ?? '';

    const tries = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        index % 2 === 0 ? submit(link, `no ${index}`) : ingest.visit(`/${link.key}?pw=no${index}`),
      ),
    );
    expect(tries.filter(({ statusCode }) => statusCode === 401)).toHaveLength(30);
    const blocked = tries.filter(({ statusCode }) => statusCode === 429);
    blocked.push(await submit(link, 'right'), await ingest.visit(`/${link.key}?pw=right`));
    expect(blocked.map(({ statusCode }) => statusCode)).toEqual(Array(12).fill(429));
    for (const { headers } of blocked) {
      expect(headers['retry-after']).toMatch(/^\d+$/);
      expect(Number(headers['retry-after'])).toBeGreaterThan(500);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(600);
    }
    // Who was let in before is not locked out by others.
    expect((await ingest.visit(`/${link.key}`, { cookie })).statusCode).toBe(302);
  });

  it('let everybody in who knows it, however many come at once, and count none of them as a try', async () => {
    const link = await ingest.link({ password: 'right' });
    const visits = () => Promise.all(Array.from({ length: 100 }, () => ingest.visit(`/${link.key}?pw=right`)));
    expect((await visits()).map(({ statusCode }) => statusCode)).toEqual(Array(100).fill(302));
    for (let time = 0; time < 29; time++) expect((await submit(link, `no ${time}`)).statusCode).toBe(401);
    expect((await visits()).map(({ statusCode }) => statusCode)).toEqual(Array(100).fill(302));
    expect((await submit(link, 'the thirtieth')).statusCode).toBe(401);
    expect((await visits()).map(({ statusCode }) => statusCode)).toEqual(Array(100).fill(429));
  });

  // Who guesses sends every guess at once: the right one must not be quicker than the counts of the wrong ones before it.
  it('give nothing away to a hundred guesses at the same moment', async () => {
    const link = await ingest.link({ password: '99' });
    const guesses = Array.from({ length: 100 }, (_, pin) => ingest.visit(`/${link.key}?pw=${pin}`));
    const statuses = (await Promise.all(guesses)).map(({ statusCode }) => statusCode);
    expect(statuses.filter((status) => status === 401)).toHaveLength(30);
    expect(statuses.filter((status) => status === 429)).toHaveLength(70);
  });

  it('open at the address the visitor is at, in any case and script', async () => {
    const link = await ingest.link({ key: 'Locked/Caf\u00e9', password: 'x' });
    for (const visited of ['locked/caf%C3%A9', 'LOCKED/caf%c3%a9/', 'Locked/xn--caf-dma']) {
      const path = `/${visited.replace(/\/$/, '')}`;
      const opened = await submit({ ...link, key: visited }, 'x');
      expect([opened.statusCode, opened.headers.location]).toEqual([303, path]);
      expect(cookieOf(opened)).toContain(`; Path=${path}; `);
      const cookie = cookieOf(opened).split(';')[0] ?? '';
      expect((await ingest.visit(String(opened.headers.location), { cookie })).statusCode).toBe(302);
    }
  });

  it('the form of a link that lost its password leads to the link; of no link, nowhere', async () => {
    const open = await ingest.link();
    const answer = await submit(open, 'x');
    expect([answer.statusCode, answer.headers.location]).toEqual([303, `/${open.key}`]);
    expect((await submit({ ...open, key: 'nothing' }, 'x')).statusCode).toBe(404);
  });

  it('never redirect to another host, however the address is written', async () => {
    const link = await ingest.link({ key: 'evil.com', password: 'x' });
    for (const [written, location] of [
      ['/evil.com', '/evil.com'],
      ['//evil.com/', '/evil.com'],
      ['%2Fevil.com', '/%2Fevil.com'],
    ]) {
      const answer = await submit({ ...link, key: String(written) }, 'x');
      expect([answer.statusCode, answer.headers.location]).toEqual([303, location]);
    }
  });

  it('apps’ addresses may be reached from the form', async () => {
    const { key } = await ingest.link({ password: 'x', url: 'myapp://open', ios: 'otherapp:x' });
    const policy = String((await ingest.visit(`/${key}`)).headers['content-security-policy']);
    expect(policy).toContain("form-action 'self' https: http: myapp: otherapp:;");
  });
});
