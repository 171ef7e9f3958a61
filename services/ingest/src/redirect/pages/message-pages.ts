import { messagePage } from './html.js';

/** Pages for visits without a destination. Their texts are fixed and contain nothing from the request. */

export const NOT_FOUND_PAGE = messagePage(404, 'Link not found', 'There is no link at this address.');
export const EXPIRED_PAGE = messagePage(410, 'Link expired', 'This link has expired and leads nowhere any more.');
export const PLACEHOLDER_PAGE = messagePage(200, 'Short links live here', 'This domain is used for short links.');
export const BAD_REQUEST_PAGE = messagePage(400, 'Bad request', 'This request cannot be understood.');
export const UNAVAILABLE_PAGE = messagePage(
  503,
  'Please try again',
  'This link cannot be opened right now. Try again in a moment.',
);
