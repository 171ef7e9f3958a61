import { type LinkRecord, shortLinkOf } from '@waymark/catalog';
import { escapeHtml } from '@waymark/http-kit';
import { previewImageUrl } from '../preview-image.js';
import { isWebUrl } from '../rules/follow.js';
import { htmlPage, type Page } from './html.js';

// Pages that show texts of a link. All texts are escaped, because the link's owner may write anything. The rows are those of
// docs/reference/redirects.md.

const NO_INDEX = '<meta name="robots" content="noindex">';

function meta(attribute: 'name' | 'property', name: string, content: string | null): string {
  return content === null || content === '' ? '' : `<meta ${attribute}="${name}" content="${escapeHtml(content)}">`;
}

function webUrl(url: string | null): string | null {
  return url !== null && isWebUrl(url) ? url : null;
}

/** Meta tags for link previews. */
function previewTags(link: LinkRecord): string {
  const { title, description } = link;
  const image = webUrl(link.image) ?? previewImageUrl(link) ?? null;
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

/** Row 8: the preview that bots get instead of the destination. */
export function previewPage(link: LinkRecord): Page {
  const title = link.title ?? link.domain;
  const body = `<main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(link.description ?? '')}</p></main>`;
  return htmlPage(200, { title, head: NO_INDEX + previewTags(link), body });
}

/** Row 9: opens a URL in an app. Browsers do so from a page, but do not follow a redirect to such a URL. */
export function launchPage(url: string): Page {
  const address = escapeHtml(url);
  return htmlPage(200, {
    title: 'Opening an app',
    head: `<meta http-equiv="refresh" content="0;url=${address}">`,
    body: `<main><h1>Opening an app</h1><p><a href="${address}" rel="noreferrer">Nothing happens? Open it here.</a></p></main>`,
  });
}

/**
 * Row 10: shows the destination in a frame, under the URL of the short link. Some sites refuse frames on unknown sites, so the destination
 * gets the origin of the short link as its referrer, but neither its path nor its query, which may contain a password.
 *
 * @param isSecure whether the page is visited over HTTPS. There browsers do not load an HTTP URL in a frame, so such a
 *   destination is loaded over HTTPS.
 */
export function framePage(link: LinkRecord, url: string, isSecure: boolean): Page {
  const title = link.title ?? link.domain;
  const body = `<iframe src="${escapeHtml(url)}" title="${escapeHtml(title)}" allow="fullscreen" referrerpolicy="strict-origin"></iframe>`;
  // Only for an `http` destination, because everything that the destination loads is upgraded, too.
  const isUpgraded = isSecure && /^http:/i.test(url);
  return htmlPage(200, { title, head: previewTags(link), body }, { frames: 'https: http:', isUpgraded });
}
