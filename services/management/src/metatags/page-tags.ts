import {
  META_DESCRIPTION_CHARS_MAX,
  META_TITLE_CHARS_MAX,
  type Metatags,
  parseUrl,
  URL_CHARS_MAX,
} from '@waymark/contract';
import { Parser } from 'htmlparser2';

/** What of a page is parsed at once: the rest of it is left alone once the head has ended. */
const STEP_CHARS = 16_384;
const KEPT_CHARS_MAX = URL_CHARS_MAX;
/** The first half of a character of two, at the end. */
const HALF_A_CHARACTER = /[\ud800-\udbff]$/;

/** Names of the elements that each text comes from, the best first. */
const SOURCES = {
  title: ['og:title', 'twitter:title', '<title>'],
  description: ['og:description', 'description', 'twitter:description'],
  image: ['og:image', 'og:image:url', 'twitter:image', 'twitter:image:src', 'image_src'],
} as const;
const KNOWN: ReadonlySet<string> = new Set(Object.values(SOURCES).flat());

/** What the head of a page says, by the names of its elements: the first of each that says anything. */
function readHead(html: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let isOver = false;
  let title: string | undefined;
  const keep = (name: string, value: string | undefined) => {
    const text = value?.slice(0, KEPT_CHARS_MAX).trim();
    if (KNOWN.has(name) && text && !found.has(name)) found.set(name, text);
  };
  const parser = new Parser({
    onopentag(name, { property, name: named, content, rel, href }) {
      if (name === 'body') isOver = true;
      if (isOver) return;
      if (name === 'meta') keep((property ?? named ?? '').toLowerCase(), content);
      if (name === 'link' && rel?.toLowerCase() === 'image_src') keep('image_src', href);
      if (name === 'title') title = '';
    },
    ontext(text) {
      if (title !== undefined && title.length < KEPT_CHARS_MAX) title += text;
    },
    onclosetag(name) {
      if (name === 'head') isOver = true;
      if (name !== 'title') return;
      keep('<title>', title);
      title = undefined;
    },
  });
  for (let at = 0; at < html.length && !isOver; at += STEP_CHARS) parser.write(html.slice(at, at + STEP_CHARS));
  if (!isOver) parser.end();
  return found;
}

/** The text on one line, cut off after so many characters but not inside of one. */
function line(text: string | undefined, charsMax: number): string | null {
  const words = text?.split(/\s/).filter(Boolean).join(' ') ?? '';
  return words.slice(0, charsMax).replace(HALF_A_CHARACTER, '').trim() || null;
}

/** Where an image is; null for what is no web address. */
function imageUrl(text: string | undefined, pageUrl: string): string | null {
  const url = text === undefined ? undefined : parseUrl(text, pageUrl);
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.href.length > URL_CHARS_MAX) return null;
  return url.href;
}

/** What a page says of itself. @param pageUrl where it is, for addresses that are relative to it */
export function pageTags(html: string, pageUrl: string): Metatags {
  const head = readHead(html);
  const first = (names: readonly string[]) => names.map((name) => head.get(name)).find((text) => text !== undefined);
  return {
    title: line(first(SOURCES.title), META_TITLE_CHARS_MAX),
    description: line(first(SOURCES.description), META_DESCRIPTION_CHARS_MAX),
    image: imageUrl(first(SOURCES.image), pageUrl),
  };
}
