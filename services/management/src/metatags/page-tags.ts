import {
  cutText,
  META_DESCRIPTION_CHARS_MAX,
  META_TITLE_CHARS_MAX,
  type Metatags,
  parseUrl,
  URL_CHARS_MAX,
} from '@waymark/contract';
import { Parser } from 'htmlparser2';

/** Chunk size for parsing: parsing stops after the chunk in which the head ends. */
const STEP_CHARS = 16_384;
const TEXT_CHARS_MAX = URL_CHARS_MAX;
/** Parsing stops at this depth, because the time of the parser grows with the square of the open elements. A valid head has few. */
const OPEN_ELEMENTS_MAX = 100;

/** The elements of a page that each field is read from, in order of preference. */
const SOURCES = {
  title: ['og:title', 'twitter:title', '<title>'],
  description: ['og:description', 'description', 'twitter:description'],
  image: ['og:image', 'og:image:url', 'twitter:image', 'twitter:image:src', 'image_src'],
} as const;
const SOURCE_NAMES: ReadonlySet<string> = new Set(Object.values(SOURCES).flat());

/** The first non-empty text of each source in the head of a page, by the name in {@link SOURCES}. */
function readHead(html: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let hasHeadEnded = false;
  let title: string | undefined;
  let open = 0;
  const keep = (name: string, value: string | undefined) => {
    const text = value && cutText(value, TEXT_CHARS_MAX).trim();
    if (SOURCE_NAMES.has(name) && text && !found.has(name)) found.set(name, text);
  };
  const parser = new Parser({
    onopentag(name, { property, name: named, content, rel, href }) {
      open++;
      if (name === 'body' || open > OPEN_ELEMENTS_MAX) hasHeadEnded = true;
      if (hasHeadEnded) return;
      if (name === 'meta') keep((property ?? named ?? '').toLowerCase(), content);
      if (name === 'link' && rel?.toLowerCase() === 'image_src') keep('image_src', href);
      if (name === 'title') title = '';
    },
    ontext(text) {
      if (title !== undefined && title.length < TEXT_CHARS_MAX) title += text;
    },
    onclosetag(name) {
      open--;
      if (name === 'head') hasHeadEnded = true;
      if (name !== 'title') return;
      keep('<title>', title);
      title = undefined;
    },
  });
  for (let at = 0; at < html.length && !hasHeadEnded; at += STEP_CHARS) parser.write(html.slice(at, at + STEP_CHARS));
  if (!hasHeadEnded) parser.end();
  return found;
}

/** The text on one line, at most `charsMax` characters. */
function singleLine(text: string | undefined, charsMax: number): string | null {
  const words = text?.split(/\s/).filter(Boolean).join(' ') ?? '';
  return cutText(words, charsMax).trim() || null;
}

/** The absolute URL of an image; null unless it is an http(s) URL. */
function imageUrl(text: string | undefined, pageUrl: string): string | null {
  const url = text === undefined ? undefined : parseUrl(text, pageUrl);
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.href.length > URL_CHARS_MAX) return null;
  return url.href;
}

/** Reads title, description and image of a page; null for those that it does not have. @param pageUrl base of relative URLs */
export function pageTags(html: string, pageUrl: string): Metatags {
  const head = readHead(html);
  const first = (names: readonly string[]) => names.map((name) => head.get(name)).find((text) => text !== undefined);
  return {
    title: singleLine(first(SOURCES.title), META_TITLE_CHARS_MAX),
    description: singleLine(first(SOURCES.description), META_DESCRIPTION_CHARS_MAX),
    image: imageUrl(first(SOURCES.image), pageUrl),
  };
}
