import { type LinkRecord, shortLinkOf } from '@waymark/catalog';
import { escapeHtml } from '@waymark/http-kit';
import { isWebUrl } from '../rules/targets.js';
import { htmlPage, type Page } from './html.js';

/** Pages that show texts of a link. Every one of them is escaped: they are whatever the link's owner wrote. */

const NO_INDEX = '<meta name="robots" content="noindex">';

function meta(attribute: 'name' | 'property', name: string, content: string | null): string {
  return content === null || content === '' ? '' : `<meta ${attribute}="${name}" content="${escapeHtml(content)}">`;
}

function webUrl(url: string | null): string | null {
  return url !== null && isWebUrl(url) ? url : null;
}

/** What link previews are made of. */
function previewTags(link: LinkRecord): string {
  const { title, description } = link;
  const image = webUrl(link.image);
  const video = webUrl(link.video);
  return [
    meta('name', 'description', description),
    meta('property', 'og:type', 'website'),
    meta('property', 'og:url', shortLinkOf(link.domain, link.key)),
    meta('property', 'og:title', title),
    meta('property', 'og:description', description),
    meta('property', 'og:image', image),
    meta('property', 'og:video', video),
    meta('name', 'twitter:card', image === null ? 'summary' : 'summary_large_image'),
    meta('name', 'twitter:title', title),
    meta('name', 'twitter:description', description),
    meta('name', 'twitter:image', image),
    meta('name', 'twitter:player', video),
  ].join('');
}

/** Row 8: what a bot shows people instead of the destination. */
export function previewPage(link: LinkRecord): Page {
  const title = link.title ?? link.domain;
  const body = `<main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(link.description ?? '')}</p></main>`;
  return htmlPage(200, { title, head: NO_INDEX + previewTags(link), body });
}

/** Row 9: browsers hand such an address over to an app, but do not follow a redirect to it. */
export function launchPage(url: string): Page {
  const address = escapeHtml(url);
  return htmlPage(200, {
    title: 'Opening an app',
    head: `<meta http-equiv="refresh" content="0;url=${address}">`,
    body: `<main><h1>Opening an app</h1><p><a href="${address}" rel="noreferrer">Nothing happens? Open it here.</a></p></main>`,
  });
}

/** Row 10: the destination under the short link's own address. */
export function framePage(link: LinkRecord, url: string): Page {
  const title = link.title ?? link.domain;
  const body = `<iframe src="${escapeHtml(url)}" title="${escapeHtml(title)}" allow="fullscreen"></iframe>`;
  return htmlPage(200, { title, head: previewTags(link), body }, { frames: 'https: http:' });
}
