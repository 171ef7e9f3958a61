import type { LinkRecord } from '@waymark/catalog';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPasswordAttempts } from '../../src/redirect/password/password-attempts.js';
import { BROWSER, DOMAIN, startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
});
afterAll(() => ingest.stop());

/** A new /64 of documentation addresses (RFC 3849). */
let networks = 0;
const aNetwork = () => {
  networks += 1;
  return `2001:db8:${networks.toString(16)}`;
};

function submit(link: LinkRecord, password: string, query = '', address = '192.0.2.1') {
  return ingest.linkApp.inject({
    method: 'POST',
    url: `/${link.key}${query}`,
    headers: {
      host: DOMAIN,
      'user-agent': BROWSER,
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': address,
    },
    payload: new URLSearchParams({ password }).toString(),
  });
}

const cookieOf = (answer: Awaited<ReturnType<typeof submit>>) =>
  String([answer.headers['set-cookie']].flat().find((cookie) => cookie?.startsWith('dub_password_')));

describe('links with a password', () => {
  it('show a form that posts to the link itself, and reveal nothing about the link', async () => {
    const { key } = await ingest.link({ password: 'sesame', title: 'Secret', url: 'https://secret.example/x' });
    const answer = await ingest.visit(`/${key}`);
    expect(answer.statusCode).toBe(401);
    expect(answer.body).toContain('<form method="post">');
    expect(answer.body).not.toMatch(/secret/i);
    const policy = String(answer.headers['content-security-policy']);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('secret');
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('open with the form’s cookie, which is valid for that link only', async () => {
    const link = await ingest.link({ key: 'Deep/Locked', password: 'sésame & co', trackConversion: true });
    const opened = await submit(link, 'sésame & co', '?a=1&pw=old&b=%2F');
    expect(opened.statusCode).toBe(303);
    expect(opened.headers.location).toBe('/Deep/Locked?a=1&b=%2F');
    expect(cookieOf(opened)).toMatch(
      new RegExp(`^dub_password_${link.id}=[\\w-]{43}; Path=/Deep/Locked; Max-Age=604800; HttpOnly; SameSite=Lax$`),
    );
    expect(cookieOf(opened)).not.toContain('same');

    const cookie = cookieOf(opened).split(';')[0] ?? '';
    const visited = await ingest.visit('/Deep/Locked?a=1', { cookie });
    expect(visited.headers.location).toMatch(/^https:\/\/acme\.com\/pricing\?a=1&dub_id=/);

    const other = await ingest.link({ password: 'sésame & co' });
    const forged = cookie.replace(link.id, other.id);
    expect((await ingest.visit(`/${other.key}`, { cookie: forged })).statusCode).toBe(401);
  });

  it('invalidate their cookies when the password changes', async () => {
    const link = await ingest.link({ password: 'first' });
    const cookie = cookieOf(await submit(link, 'first')).split(';')[0] ?? '';
    const second = await ingest.link({ password: 'second' });
    const { encryptedPassword } = second;
    expect((await ingest.visit(`/${link.key}`, { cookie })).statusCode).toBe(302);
    // The encryption is bound to the link's id: this password can no longer be decrypted and is never accepted.
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

  it('open under the visited path, in any case and encoding', async () => {
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

  it('the form of a link whose password was removed leads to the link; of an unknown link, to the 404 page', async () => {
    const open = await ingest.link();
    const answer = await submit(open, 'x');
    expect([answer.statusCode, answer.headers.location]).toEqual([303, `/${open.key}`]);
    expect((await submit({ ...open, key: 'nothing' }, 'x')).statusCode).toBe(404);
  });

  it('never redirect to another host, however the path is written', async () => {
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

  it.each([
    ['is disabled', { disabledAt: new Date(Date.now() - 1000).toISOString() }, 404, undefined],
    [
      'has expired',
      { expiresAt: new Date(Date.now() - 1000).toISOString(), expiredUrl: 'https://acme.com/over' },
      302,
      'https://acme.com/over',
    ],
  ])('hide from strangers that the link %s', async (_what, fields, status, location) => {
    const { key } = await ingest.link({ password: 'x', ...fields });
    const answer = await ingest.visit(`/${key}`);
    expect([answer.statusCode, answer.headers.location]).toEqual([401, undefined]);
    const admitted = await ingest.visit(`/${key}?pw=x`);
    expect([admitted.statusCode, admitted.headers.location]).toEqual([status, location]);
  });

  it('show the same form for every destination, and allow the form to lead there', async () => {
    const fields = { title: 'Secret', expiresAt: new Date(Date.now() + 60_000).toISOString(), trackConversion: true };
    const links = await Promise.all([
      ingest.link({ password: 'x', url: 'https://secret.example' }),
      ingest.link({ password: 'x', url: 'myapp://open', ios: 'otherapp:x', geo: { DE: 'third:x' }, ...fields }),
      ingest.link({ password: 'x', url: 'mailto:secret@acme.com', rewrite: true, proxy: true }),
    ]);
    const shown = await Promise.all(
      links.map(async ({ key }) => {
        const { statusCode, headers, body } = await ingest.visit(`/${key}`);
        return { statusCode, headers: { ...headers, date: '' }, body };
      }),
    );
    for (const answer of shown) expect(answer).toEqual(shown[0]);
    // Browsers apply this directive to redirects after the form as well, and it cannot list every scheme.
    expect(shown[0]?.headers['content-security-policy']).not.toContain('form-action');
  });
});

describe('guessing a link’s password', () => {
  const guess = (link: LinkRecord, password: string, address: string) => submit(link, password, '', address);
  const visit = (link: LinkRecord, password: string, address: string) =>
    ingest.visit(`/${link.key}?pw=${password}`, { 'x-forwarded-for': address });
  const statuses = (answers: readonly { readonly statusCode: number }[]) => {
    const counts: Record<number, number> = {};
    for (const { statusCode } of answers) counts[statusCode] = (counts[statusCode] ?? 0) + 1;
    return counts;
  };

  it('is blocked per network after thirty attempts in ten minutes, by form and query together, even with the correct password', async () => {
    const link = await ingest.link({ password: 'right' });
    const network = aNetwork();
    const cookie = cookieOf(await guess(link, 'right', `${network}::1`)).split(';')[0] ?? '';

    // Providers assign a /64 to every customer.
    const tries = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        (index % 2 === 0 ? guess : visit)(link, `no${index}`, `${network}::${index}`),
      ),
    );
    expect(statuses(tries)).toEqual({ 401: 30, 429: 10 });
    const refused = [
      await guess(link, 'right', `${network}::1`),
      await visit(link, 'right', `${network}::1:2:3:4`),
      ...tries.filter(({ statusCode }) => statusCode === 429),
    ];
    expect(statuses(refused)).toEqual({ 429: 12 });
    for (const { headers } of refused) {
      expect(headers['retry-after']).toMatch(/^\d+$/);
      expect(Number(headers['retry-after'])).toBeGreaterThan(500);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(600);
    }
    // A visitor with a cookie is still admitted.
    const headers = { cookie, 'x-forwarded-for': `${network}::1` };
    expect((await ingest.visit(`/${link.key}`, headers)).statusCode).toBe(302);
  });

  it('blocks no other network, and correct passwords are not counted', async () => {
    const link = await ingest.link({ password: 'right' });
    const [strangers, members] = [aNetwork(), aNetwork()];
    const rights = () => Promise.all(Array.from({ length: 100 }, () => visit(link, 'right', `${members}::1`)));
    expect(statuses(await rights())).toEqual({ 302: 100 });
    for (let time = 0; time < 31; time++) await guess(link, `no ${time}`, `${strangers}::1`);
    expect((await guess(link, 'right', `${strangers}::1`)).statusCode).toBe(429);
    expect((await guess(link, 'wrong', `${members}::1`)).statusCode).toBe(401);
    expect(statuses(await rights())).toEqual({ 302: 100 });
  });

  it('from one network, however often, lowers no other network’s limit', async () => {
    const link = await ingest.link({ password: 'right' });
    const [organisation, office] = [aNetwork(), '198.51.100.76'];
    const tries = Array.from({ length: 400 }, (_, time) => guess(link, `no ${time}`, `${organisation}::1`));
    expect(statuses(await Promise.all(tries))).toEqual({ 401: 30, 429: 370 });
    expect((await guess(link, 'right', `${organisation}:1::1`)).statusCode).toBe(303);
    const typos = Array.from({ length: 29 }, () => guess(link, 'typo', office));
    expect(statuses(await Promise.all(typos))).toEqual({ 401: 29 });
    expect((await guess(link, 'right', office)).statusCode).toBe(303);
  });

  it('from all networks of one organisation is blocked after a hundred attempts in a day, and lowers no other network’s limit', async () => {
    const link = await ingest.link({ password: 'right' });
    const [organisation, office] = [aNetwork(), '198.51.100.75'];
    const tries = Array.from({ length: 400 }, (_, time) =>
      guess(link, `no ${time}`, `${organisation}:${time % 20}::1`),
    );
    const last = guess(link, 'right', `${organisation}:ffff::1`);
    expect(statuses(await Promise.all(tries))).toEqual({ 401: 100, 429: 300 });
    const refused = await last;
    expect([refused.statusCode, Number(refused.headers['retry-after']) > 80_000]).toEqual([429, true]);
    const typos = Array.from({ length: 29 }, () => guess(link, 'typo', office));
    expect(statuses(await Promise.all(typos))).toEqual({ 401: 29 });
    expect((await guess(link, 'right', office)).statusCode).toBe(303);
  });

  // An attacker may send all guesses at once: the correct one must not pass before the wrong ones are counted.
  it('gains nothing from a hundred concurrent guesses', async () => {
    const link = await ingest.link({ password: '99' });
    const address = `${aNetwork()}::1`;
    const guesses = Array.from({ length: 100 }, (_, pin) => visit(link, String(pin), address));
    expect(statuses(await Promise.all(guesses))).toEqual({ 401: 30, 429: 70 });
  });

  it('from many networks at once leaves each of them five attempts per day, and never blocks the correct password', async () => {
    const link = await ingest.link({ password: 'right' });
    const botnet = Array.from({ length: 300 }, () => aNetwork());
    const flood = () => Promise.all(botnet.map((network, index) => guess(link, `no ${index}`, `${network}::1`)));
    expect(statuses(await flood())).toEqual({ 401: 300 });
    // Every further round is one attempt per network.
    for (let round = 2; round <= 5; round++) expect(statuses(await flood())).toEqual({ 401: 300 });
    const refused = await flood();
    expect(statuses(refused)).toEqual({ 429: 300 });
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(80_000);

    // All addresses of an organisation, which may have thousands of /64s, then count as one network.
    const [first = ''] = botnet;
    expect((await guess(link, 'right', `${first}:1::1`)).statusCode).toBe(429);
    for (const address of [`${aNetwork()}::1`, '198.51.100.77']) {
      expect((await guess(link, 'right', address)).statusCode).toBe(303);
      for (let time = 0; time < 4; time++) expect((await guess(link, 'typo', address)).statusCode).toBe(401);
      expect((await guess(link, 'right', address)).statusCode).toBe(303);
      expect((await guess(link, 'typo', address)).statusCode).toBe(401);
      expect((await guess(link, 'right', address)).statusCode).toBe(429);
    }
    // Another link is not under attack.
    const other = await ingest.link({ password: 'right' });
    expect((await guess(other, 'right', `${first}::1`)).statusCode).toBe(303);
  });

  // Otherwise the time of a refusal would reveal the password.
  it('counts as often for a refused password, correct or not', async () => {
    const { take, peek, giveBack } = ingest.deps.rateLimiter;
    let calls = 0;
    const counted =
      <A extends unknown[], R>(call: (...args: A) => R) =>
      (...args: A): R => {
        calls += 1;
        return call(...args);
      };
    const limiter = { take: counted(take), peek: counted(peek), giveBack: counted(giveBack) };
    const attempts = createPasswordAttempts(limiter);
    const { id } = await ingest.link({ password: 'right' });
    const address = `${aNetwork()}::1`;
    await Promise.all(Array.from({ length: 30 }, () => attempts.take(id, address, false)));
    const callsOf = async (isCorrect: boolean) => {
      calls = 0;
      expect(await attempts.take(id, address, isCorrect)).toBeGreaterThan(0);
      return calls;
    };
    expect(await callsOf(true)).toBe(await callsOf(false));
  });

  it('stores no visitor addresses in Redis', async () => {
    const link = await ingest.link({ password: 'right' });
    await guess(link, 'wrong', '198.51.100.78');
    await guess(link, 'wrong', '2001:db8:abcd::1');
    const keys = await ingest.redisClient.keys('waymark:limit:link-password*');
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.join()).not.toMatch(/198\.51|2001:db8/);
  });
});
