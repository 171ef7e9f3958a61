import type { LinkRecord } from '@waymark/catalog';
import type { CreateLinkBody, UpdateLinkBody } from '@waymark/contract';
import { checkBulkImage, type LinkContext, plainFields, variantsOf } from '@waymark/link-rules';
import { shownValue } from '../model/fields.js';
import { isRefusedRecord } from '../model/record-errors.js';
import type { Lost } from '../model/source-link.js';
import type { LinkPlan } from './link-plan.js';

const URL_FIELDS = ['expiredUrl', 'ios', 'android'] as const;

function without(body: CreateLinkBody, fields: readonly string[]): CreateLinkBody {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !fields.includes(name))) as CreateLinkBody;
}

/**
 * Returns the body of a plan without the tags and the folder that were deleted after the import had looked up their names, which it does once
 * for each name. Adds them to the lost values of the plan.
 */
export function knownReferences(
  { body, names, lost }: Pick<LinkPlan, 'body' | 'names' | 'lost'>,
  { tagIds, folders }: Pick<LinkContext['references'], 'tagIds' | 'folders'>,
): CreateLinkBody {
  /** Reports each value once, also when the update is repeated. */
  function reportLost(field: string, id: string): void {
    const value = names.get(id) ?? id;
    if (lost.some((one) => one.field === field && one.value === value)) return;
    lost.push({ field, value, reason: 'was deleted during the import' });
  }
  const { tagIds: tagsOfBody = [], folderId, ...others } = body;
  const known = (Array.isArray(tagsOfBody) ? tagsOfBody : []).filter((id) => {
    if (!tagIds.has(id)) reportLost('tags', id);
    return tagIds.has(id);
  });
  const isFolderGone = typeof folderId === 'string' && !folders.has(folderId);
  if (isFolderGone) reportLost('folder', folderId);
  return {
    ...others,
    ...(known.length > 0 && { tagIds: known }),
    ...(folderId !== undefined && !isFolderGone && { folderId }),
  };
}

/**
 * The body without those values that a link does not need and that the rules for links refuse, so that the link is made all the same. Of
 * `geo`, only the refused countries are left out. Without `testVariants`, the start and end of the test are left out too.
 *
 * @param existing the link that is updated; undefined for a new one
 * @param lost gets the values that are left out, with the reasons
 */
export function acceptedFields(body: CreateLinkBody, existing: LinkRecord | undefined, lost: Lost[]): CreateLinkBody {
  /** Runs `check`. If it refuses the value, the value is added to `lost`. */
  function isAccepted(field: string, value: unknown, check: () => unknown): boolean {
    try {
      check();
      return true;
    } catch (err) {
      if (!isRefusedRecord(err)) throw err;
      lost.push({ field, value: shownValue(value), reason: err.message });
      return false;
    }
  }
  const isPlain = (field: string, value: unknown, alone: UpdateLinkBody) =>
    isAccepted(field, value, () => plainFields(alone));

  const { image, geo, testVariants } = body;
  const isConversionTracked = body.trackConversion ?? existing?.trackConversion ?? false;
  const refused: string[] = URL_FIELDS.filter((field) => !isPlain(field, body[field], { [field]: body[field] }));
  function checkImage(): void {
    const stored = plainFields({ image });
    if (existing === undefined) checkBulkImage({ proxy: body.proxy ?? false, ...stored });
  }
  if (!isAccepted('image', image, checkImage)) refused.push('image');
  if (!isAccepted('testVariants', testVariants, () => variantsOf(testVariants, isConversionTracked)))
    refused.push('testVariants', 'testStartedAt', 'testCompletedAt');
  const targets = Object.entries(geo ?? {});
  const kept = targets.filter(([country, url]) => isPlain(`geo.${country}`, url, { geo: { [country]: url } }));
  if (kept.length === targets.length) return without(body, refused);
  return { ...without(body, [...refused, 'geo']), ...(kept.length > 0 && { geo: Object.fromEntries(kept) }) };
}
