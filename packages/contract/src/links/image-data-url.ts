/** Maximum characters of the field of an image: as many as a request body may have. {@link IMAGE_DATA_URL_CHARS_MAX} is checked later. */
export const IMAGE_FIELD_CHARS_MAX = 1024 * 1024;

/** Maximum characters of an image as data URL, which is part of its record and of every cached copy of it. */
export const IMAGE_DATA_URL_CHARS_MAX = 100_000;

const IMAGE_DATA_URL = /^data:image\/(png|jpe?g|gif|webp);base64,([A-Za-z0-9+/]+={0,2})$/;

/** The content of an image that was given as data URL. */
export interface ImageData {
  /** A registered media type of a raster image. */
  readonly contentType: string;
  readonly base64: string;
}

/** Parses a data URL of an image; undefined for other texts, also for images that may have scripts (SVG). */
export function parseImageDataUrl(text: string): ImageData | undefined {
  const [, type, base64] = IMAGE_DATA_URL.exec(text) ?? [];
  if (type === undefined || base64 === undefined) return undefined;
  return { contentType: `image/${type === 'jpg' ? 'jpeg' : type}`, base64 };
}
