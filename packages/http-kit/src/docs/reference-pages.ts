import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { marked, Renderer, type Tokens } from 'marked';
import { encodedOnce } from './encoded-once.js';
import { escapeHtml, Html, html } from './html.js';
import { docsPage } from './page-frame.js';

/** `docs/reference` of the repository. The relative path is the same from `src` and from `dist`. */
export const REFERENCE_DIRECTORY = fileURLToPath(new URL('../../../../docs/reference', import.meta.url));

/** File name of the index, which is served as `/docs/reference`. */
const INDEX = 'README';

/** One Markdown file of `docs/reference`. */
interface Subject {
  readonly name: string;
  readonly title: string;
  readonly text: string;
}

/** The pages of `docs/reference`, rendered on demand. */
export interface ReferencePages {
  /** File names without extension, in the order of the titles, without the index. */
  readonly names: readonly string[];
  titleOf(name: string): string;
  /** The index page, served at `/docs/reference`. */
  index(): Buffer;
  /** The page served at `/docs/reference/<name>`; undefined if there is none. */
  page(name: string): Buffer | undefined;
}

function readSubjects(): ReadonlyMap<string, Subject> {
  const files = readdirSync(REFERENCE_DIRECTORY).filter((file) => file.endsWith('.md'));
  const subjects = files.map((file) => {
    const text = readFileSync(join(REFERENCE_DIRECTORY, file), 'utf8');
    const name = basename(file, '.md');
    return { name, text, title: /^# (.+)$/m.exec(text)?.[1] ?? name };
  });
  subjects.sort((a, b) => (a.title < b.title ? -1 : 1));
  return new Map(subjects.map((subject) => [subject.name, subject]));
}

/** The anchor of a heading, as GitHub generates it, because links between the Markdown files use these anchors. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

/** Relative addresses, as seen from the page that contains the links. */
export interface Addresses {
  readonly docs: string;
  readonly index: string;
  /** Prefix of the names of pages. */
  readonly pages: string;
}

const FROM_INDEX: Addresses = { docs: '../docs', index: 'reference', pages: 'reference/' };
const FROM_PAGE: Addresses = { docs: '../../docs', index: '../reference', pages: '' };

/** The address of a link's target on this server; undefined for files of the repository that are not served. */
function servedAddress(href: string, from: Addresses, names: ReadonlySet<string>): string | undefined {
  if (href.startsWith('#') || /^https?:/.test(href)) return href;
  const [, name, anchor = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (name === undefined || !names.has(name)) return undefined;
  return `${name === INDEX ? from.index : `${from.pages}${name}`}${anchor}`;
}

class PageRenderer extends Renderer {
  constructor(
    private readonly from: Addresses,
    private readonly names: ReadonlySet<string>,
  ) {
    super();
  }

  override heading({ tokens, depth, text }: Tokens.Heading): string {
    return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
  }

  override link({ href, tokens }: Tokens.Link): string {
    const text = this.parser.parseInline(tokens);
    const address = servedAddress(href, this.from, this.names);
    return address === undefined ? text : `<a href="${escapeHtml(address)}">${text}</a>`;
  }

  override table(token: Tokens.Table): string {
    return `<div class="scroll">${super.table(token)}</div>\n`;
  }

  /** Raw HTML is shown as text. */
  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    return escapeHtml(text);
  }
}

/** Renders Markdown as HTML; `names` are the pages that links may point to. */
export function renderMarkdown(text: string, from: Addresses, names: ReadonlySet<string>): Html {
  return new Html(marked.parse(text, { async: false, renderer: new PageRenderer(from, names) }));
}

/** Reads the titles of `docs/reference`; pages are rendered when they are first requested. */
export function referencePages(apiTitle: string): ReferencePages {
  const subjects = readSubjects();
  const known: ReadonlySet<string> = new Set(subjects.keys());
  const names = [...subjects.keys()].filter((name) => name !== INDEX);
  const titleOf = (name: string): string => subjects.get(name)?.title ?? name;

  function render({ name, title, text }: Subject): string {
    const from = name === INDEX ? FROM_INDEX : FROM_PAGE;
    const navigation = html`<a href="${from.docs}">${apiTitle}</a><b><a href="${from.index}">${titleOf(INDEX)}</a></b>${names.map(
      (other) => html`<a href="${from.pages}${other}">${titleOf(other)}</a>`,
    )}`;
    return docsPage(`${title} · ${apiTitle}`, navigation, renderMarkdown(text, from, known));
  }

  const pages = new Map([...subjects].map(([name, subject]) => [name, encodedOnce(() => render(subject))]));

  return {
    names,
    titleOf,
    index: () => pages.get(INDEX)?.() ?? Buffer.alloc(0),
    page: (name) => (name === INDEX ? undefined : pages.get(name)?.()),
  };
}
