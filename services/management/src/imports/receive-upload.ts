import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import multipart, { type MultipartFile } from '@fastify/multipart';
import { ApiError, fieldError, IMPORT_LIST_ITEMS_MAX, type ImportForm, importFormSchema } from '@waymark/contract';
import { type App, allowLongBody, parseInput, TEXT_BODY_TYPES } from '@waymark/http-kit';
import { fileFormat } from '@waymark/import';
import type { FastifyRequest } from 'fastify';
import { FILE_MODE, type ImportFiles } from './import-files.js';

/** The fields of a form whose file was written to disk. */
export interface Upload {
  readonly form: ImportForm;
  readonly format: ReturnType<typeof fileFormat>;
  /** Name of the directory with the file. */
  readonly directory: string;
  /** Size of the file. */
  readonly bytes: number;
}

const MB = 1024 ** 2;
/** Maximum bytes of a form besides its file: boundaries, headers of parts and other fields. */
const REST_BYTES_MAX = MB;
const FIELDS_MAX = 1100;
const FIELD_BYTES_MAX = 4096;
const NO_DATA_MS = 30_000;
const UPLOAD_MS_MAX = 3_600_000;
const LIST_ITEMS_MAX: ReadonlyMap<string, number> = new Map(Object.entries(IMPORT_LIST_ITEMS_MAX));
const FULL_DISK: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

const tooLarge = (bytesMax: number) =>
  new ApiError('bad_request', `The file of an import may have at most ${bytesMax / MB} MB.`);

/**
 * Lets the routes of a scope receive JSON and forms with a file; other types of bodies are refused.
 *
 * @param bytesMax maximum bytes of a file
 */
export async function acceptUploads(scope: App, bytesMax: number): Promise<void> {
  await scope.register(multipart, {
    throwFileSizeLimit: false,
    limits: {
      files: 1,
      fileSize: bytesMax,
      fields: FIELDS_MAX,
      fieldSize: FIELD_BYTES_MAX,
      fieldNameSize: 100,
      parts: FIELDS_MAX + 1,
      headerPairs: 20,
    },
  });
  scope.removeContentTypeParser(TEXT_BODY_TYPES);
  scope.addContentTypeParser('*', (_request, _payload, done) => {
    const message =
      'The Content-Type of an import must be multipart/form-data for a file, or application/json for another service.';
    done(new ApiError('bad_request', message));
  });
}

/** Converts an error while a form is received: 400 for a wrong body, 500 for an error of the disk. */
function uploadError(err: unknown): unknown {
  if (err instanceof ApiError || !(err instanceof Error)) return err;
  const code = 'code' in err ? err.code : undefined;
  if (FULL_DISK.has(code))
    return new ApiError('internal_server_error', 'The disk of the server is full.', { cause: err });
  if ('syscall' in err) return err;
  const limits: Readonly<Record<string, string>> = {
    FST_FILES_LIMIT: 'An import has one file.',
    FST_PARTS_LIMIT: `The form has more than ${FIELDS_MAX} fields.`,
    FST_FIELDS_LIMIT: `The form has more than ${FIELDS_MAX} fields.`,
  };
  const message = limits[String(code)] ?? `The form is not valid multipart/form-data: ${err.message}`;
  return new ApiError('bad_request', message, { cause: err });
}

/**
 * Adds a field to the values of a form. A list may be a repeated field, a comma-separated text, or both. Its limit is checked here, because fields
 * without an end would otherwise become lists of millions of items.
 */
function addField(form: Record<string, unknown>, name: string, value: string): void {
  const itemsMax = LIST_ITEMS_MAX.get(name);
  if (itemsMax === undefined) {
    if (Object.hasOwn(form, name)) throw fieldError('invalid_value', name, 'must be given once');
    form[name] = value;
    return;
  }
  form[name] ??= [];
  const list = form[name] as string[];
  for (const item of value.split(',')) if (item.trim() !== '') list.push(item.trim());
  if (list.length > itemsMax) throw fieldError('too_big', name, `must have at most ${itemsMax} items`);
}

async function saveFile(part: MultipartFile, path: string, bytesMax: number): Promise<number> {
  if (part.fieldname !== 'file')
    throw fieldError('invalid_value', 'file', 'must be the name of the field with the file');
  const limit = new AbortController();
  part.file.once('limit', () => limit.abort());
  try {
    const target = createWriteStream(path, { flags: 'wx', mode: FILE_MODE, flush: true });
    await pipeline(part.file, target, { signal: limit.signal });
  } catch (err) {
    throw limit.signal.aborted ? tooLarge(bytesMax) : err;
  }
  const { size } = await stat(path);
  if (size === 0) throw new ApiError('bad_request', 'The file is empty.');
  return size;
}

async function readForm(request: FastifyRequest, path: string, bytesMax: number): Promise<Omit<Upload, 'directory'>> {
  const fields: Record<string, unknown> = {};
  let file: { readonly name: string; readonly bytes: number } | undefined;
  for await (const part of request.parts()) {
    if (part.type === 'file') file = { name: part.filename, bytes: await saveFile(part, path, bytesMax) };
    else if (part.valueTruncated === true || part.fieldnameTruncated === true) {
      throw fieldError('too_big', part.fieldname, `must have at most ${FIELD_BYTES_MAX} bytes`);
    } else if (typeof part.value !== 'string') {
      throw fieldError('invalid_value', part.fieldname, 'must be a text, not JSON');
    } else addField(fields, part.fieldname, part.value);
  }
  if (file === undefined) throw fieldError('required', 'file', 'is missing');
  const form = parseInput(importFormSchema, fields);
  return { form, format: form.format ?? fileFormat(file.name), bytes: file.bytes };
}

/**
 * Receives a form, and writes its file to a new directory.
 *
 * @param bytesMax maximum bytes of the file
 * @throws ApiError 400 or 422 for a form that is malformed, too large or too slow, 500 when the disk is full; other errors of the disk.
 *   The directory is then removed.
 */
export async function receiveUpload(request: FastifyRequest, files: ImportFiles, bytesMax: number): Promise<Upload> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax + REST_BYTES_MAX) throw tooLarge(bytesMax);
  const directory = await files.createDirectory();
  const late = allowLongBody(request, { noDataMs: NO_DATA_MS, totalMs: UPLOAD_MS_MAX });
  const startedMs = performance.now();
  request.uploadMs = () => performance.now() - startedMs;
  try {
    return {
      ...(await Promise.race([readForm(request, files.sourcePath(directory), bytesMax), late.passed])),
      directory,
    };
  } catch (err) {
    await files.remove(directory);
    throw uploadError(err);
  } finally {
    late.end();
    const uploadMs = request.uploadMs();
    request.uploadMs = () => uploadMs;
  }
}
