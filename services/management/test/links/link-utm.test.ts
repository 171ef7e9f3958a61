import { readUtm } from '@waymark/catalog';
import { createLinkBodySchema, type Link } from '@waymark/contract';
import { destinationOf } from '@waymark/link-rules';
import { rounds } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let acme: Caller;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

const FIELDS = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'] as const;
type Field = (typeof FIELDS)[number];
type Values = Partial<Record<Field, string | null>>;

async function aLink(body: object): Promise<Link> {
  const { status, body: link } = await acme.post(body);
  expect(status).toBe(200);
  return link;
}

async function patched(link: Pick<Link, 'id'>, body: object, method: 'PATCH' | 'PUT' = 'PATCH'): Promise<Link> {
  const answer = await acme.call<Link>(method, `/links/${link.id}`, body);
  expect(answer.status).toBe(200);
  return answer.body;
}

describe('PATCH /links/{linkId} with a url', () => {
  it.each(['PATCH', 'PUT'] as const)('keeps the stored UTM values: %s', async (method) => {
    const link = await aLink({ url: 'https://old.com/?ref=friend', utm_source: 'news', utm_medium: 'email' });
    expect(await patched(link, { url: 'https://new.com/path' }, method)).toMatchObject({
      url: 'https://new.com/path?utm_source=news&utm_medium=email',
      utm_source: 'news',
      utm_medium: 'email',
    });
  });

  it('gives precedence to values of the url and of the body', async () => {
    const link = await aLink({
      url: 'https://old.com',
      utm_source: 'a',
      utm_medium: 'b',
      utm_term: 'c',
      utm_content: 'd',
    });
    const body = { url: 'https://new.com/?utm_source=own&utm_medium=', utm_term: null, utm_campaign: 'spring' };
    expect(await patched(link, body)).toMatchObject({
      ...{ url: 'https://new.com/?utm_source=own&utm_medium=&utm_content=d&utm_campaign=spring' },
      ...{ utm_source: 'own', utm_medium: null, utm_campaign: 'spring', utm_term: null, utm_content: 'd' },
    });
  });

  it('rejects a url that is too long with its UTM values', async () => {
    const url = `https://a.com/${'b'.repeat(31_980)}`;
    const link = await aLink({ url, title: 'x' });
    const tagged = await aLink({ url: 'https://a.com', utm_source: 'x' });
    for (const answer of [
      await acme.post({ url, utm_source: 'x' }),
      await acme.call('PATCH', `/links/${link.id}`, { utm_source: 'x' }),
      await acme.call('PATCH', `/links/${tagged.id}`, { url }),
    ]) {
      const message = 'too_big: url: must have at most 32000 characters with its UTM parameters';
      expect(answer).toMatchObject({ status: 422, body: { error: { message } } });
    }
  });

  it('keeps a url unchanged that contains every stored value', async () => {
    const link = await aLink({ url: 'https://a.com/?utm_source=x&flag' });
    expect((await patched(link, { url: 'https://b.com/?flag&utm_source=y' })).url).toBe(
      'https://b.com/?flag&utm_source=y',
    );
  });

  it('keeps a value with a plus sign', async () => {
    const link = await aLink({ url: 'https://a.com/?utm_source=a%2Bb' });
    expect((await patched(link, { url: 'https://b.com' })).utm_source).toBe('a+b');
  });

  it.each(['mailto:ada@example.com', 'tel:+4912345'])(
    'adds nothing to %s, which has no query of that kind',
    async (url) => {
      const link = await aLink({ url: 'https://a.com', utm_source: 'news' });
      expect(await patched(link, { url })).toMatchObject({ url, utm_source: null });
    },
  );
});

describe('other changes of a url', () => {
  it('PATCH /links/bulk takes the UTM values from the new url', async () => {
    const link = await aLink({ url: 'https://old.com', utm_source: 'news', utm_medium: 'email' });
    const change = async (data: object) =>
      (await acme.call<Link[]>('PATCH', '/links/bulk', { linkIds: [link.id], data })).body[0];
    expect(await change({ url: 'https://new.com/?utm_medium=own' })).toMatchObject({
      ...{ url: 'https://new.com/?utm_medium=own', utm_source: null, utm_medium: 'own' },
    });
    expect(await change({ url: 'https://new.com', utm_term: 'shoes' })).toMatchObject({
      ...{ url: 'https://new.com/?utm_term=shoes', utm_medium: null, utm_term: 'shoes' },
    });
  });

  it('PUT /links/upsert changes the given values and keeps the others', async () => {
    const url = 'https://upsert.com/?utm_source=news';
    const link = await aLink({ url });
    const { body } = await acme.call<Link>('PUT', '/links/upsert', { url, utm_term: 'shoes' });
    expect(body).toMatchObject({ id: link.id, url: `${url}&utm_term=shoes`, utm_source: 'news', utm_term: 'shoes' });
  });
});

describe('UTM fields that change nothing', () => {
  const NULLS = { utm_source: null, utm_medium: '', utm_campaign: null, utm_term: '', utm_content: null, ref: null };
  const SIGNED = 'https://s3.acme.com/x?X-Sig=a%2Fb+c~d&q=%20(x)&flag';

  it.each(['mailto:a@b.c?subject=hi%20you', SIGNED])('keep every byte of %s', async (url) => {
    const link = await aLink({ url, ...NULLS });
    expect(link.url).toBe(url);
    expect(await patched(link, NULLS)).toEqual(link);
    const { body } = await acme.call<Link[]>('POST', '/links/bulk', [{ url, ...NULLS }]);
    expect(body[0]?.url).toBe(url);
  });

  it.each(['PATCH', 'PUT'] as const)('are those of the link itself, sent back: %s', async (method) => {
    const link = await aLink({ url: 'https://a.com/?utm_source=a%2Bb&flag&sig=x%20y~' });
    expect(link.utm_source).toBe('a+b');
    expect(await patched(link, { ...link }, method)).toEqual(link);
  });

  it('do not stop the others: the first plus of a value that is set becomes a space', async () => {
    const link = await aLink({ url: 'https://a.com/?utm_source=a%2Bb' });
    const changed = await patched(link, { utm_source: 'a+b', utm_term: 'c+d' });
    expect(changed).toMatchObject({ utm_source: 'a+b', utm_term: 'c d' });
  });
});

describe('the utm fields of a link', () => {
  const aValue = fc.oneof(fc.constantFrom('', 'a', 'a+b', '++', 'a b', 'ä&=', '%2B', ' x '), fc.constant(null));
  const aUrl = fc
    .tuple(
      fc.constantFrom('https://a.com', 'https://b.com/path', 'app://open', 'mailto:a@b.com'),
      fc.dictionary(fc.constantFrom(...FIELDS, 'x'), fc.constantFrom('', 'u', 'v w', 'p+q'), { maxKeys: 3 }),
    )
    .map(([base, query]) => (Object.keys(query).length === 0 ? base : `${base}?${new URLSearchParams(query)}`));
  const someValues: fc.Arbitrary<Values> = fc.dictionary(fc.constantFrom(...FIELDS), aValue, { maxKeys: 3 });
  const aChange = fc.tuple(fc.constantFrom('patch', 'bulk'), fc.option(aUrl, { nil: undefined }), someValues);

  const inUrl = (url: string, field: Field) => new URL(url).searchParams.get(field) || null;
  const valuesOf = (url: string) => Object.fromEntries(FIELDS.map((field) => [field, inUrl(url, field)]));

  /** The expected UTM values of a link to `before` after a change. */
  function expected(before: string, [how, url = before, values]: [string, string | undefined, Values]) {
    const { searchParams } = new URL(url);
    const isKept = how === 'patch' && url.includes('://');
    return Object.fromEntries(
      FIELDS.map((field) => {
        const given = values[field];
        if (given !== undefined) return [field, given?.trim().replace('+', ' ') || null];
        return [field, inUrl(searchParams.has(field) || !isKept ? url : before, field)];
      }),
    );
  }

  const bodyOf = ([, url, values]: [string, string | undefined, Values]) => ({
    ...(url === undefined ? {} : { url }),
    ...values,
  });

  it('come from the change, else from the url, else stay unchanged', () => {
    const property = fc.property(aUrl, aChange, (before, change) => {
      const [how, url = before, values] = change;
      const body = createLinkBodySchema.parse({ url, ...values });
      const after = destinationOf(url, body, false, how === 'patch' ? readUtm(before) : undefined);
      expect(readUtm(after)).toEqual(expected(before, change));
    });
    fc.assert(property, { numRuns: 2000 });
  });

  it('always match the url of the link', async () => {
    const property = fc.asyncProperty(aUrl, fc.array(aChange, { minLength: 1, maxLength: 3 }), async (url, changes) => {
      let link = await aLink({ url });
      for (const change of changes) {
        const { url: before, id } = link;
        if (change[0] === 'patch') link = await patched(link, bodyOf(change));
        else {
          const bulk = { linkIds: [id], data: bodyOf(change) };
          link = (await acme.call<Link[]>('PATCH', '/links/bulk', bulk)).body[0] as Link;
        }
        expect(link).toMatchObject(valuesOf(link.url));
        expect(link).toMatchObject(expected(before, change));
      }
    });
    await fc.assert(property, { numRuns: rounds(8, 4) });
  });
});
