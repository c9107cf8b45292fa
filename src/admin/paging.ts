// Lists come page by page: sorted by name, cut after `limit`, with a cursor to go on. A cursor is the last name of
// the page, so what comes and goes between two pages neither repeats nor hides another.
import * as z from 'zod';
import type { NamePage, NameQuery } from '../../protocols/port.ts';
import { AdminError } from './errors.ts';

const PAGE_DEFAULT = 50;
const PAGE_MAX = 1000;

export const pageQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,9}$/, `must be a number from 1 to ${PAGE_MAX}`)
    .transform(Number)
    .pipe(z.int().min(1, `must be from 1 to ${PAGE_MAX}`).max(PAGE_MAX, `must be from 1 to ${PAGE_MAX}`))
    .optional()
    .meta({ description: `Items of a page: ${PAGE_DEFAULT}, at most ${PAGE_MAX}.` }),
  search: z
    .string()
    .max(256)
    .optional()
    .meta({ description: 'Only names that contain this, upper and lower case alike.' }),
  cursor: z.string().max(65_536).optional().meta({ description: '`next` of the page before.' }),
});

export type PageQuery = z.output<typeof pageQuery>;

/** @param id of the document's schema: one for each list, made once. */
export function pageOf<Item extends z.ZodType>(item: Item, id: string, description: string) {
  return z
    .strictObject({
      items: z.array(item),
      next: z.string().nullable().meta({ description: 'Cursor of the next page; null on the last one.' }),
    })
    .meta({ id, description });
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

/** @param sorted by `nameOf`, in code unit order. */
export function pageFrom<T>(sorted: readonly T[], nameOf: (item: T) => string, query: PageQuery): Page<T> {
  const limit = query.limit ?? PAGE_DEFAULT;
  const after = query.cursor === undefined ? undefined : readCursor(query.cursor);
  const search = query.search?.toLowerCase();
  const items: T[] = [];
  for (const item of sorted) {
    const name = nameOf(item);
    if (after !== undefined && name <= after) continue;
    if (search !== undefined && !name.toLowerCase().includes(search)) continue;
    if (items.length === limit) return { items, next: writeCursor(nameOf(items[limit - 1]!)) };
    items.push(item);
  }
  return { items, next: null };
}

/** The same of a list whose owner looks for the page. */
export function nameQuery(query: PageQuery): NameQuery {
  const after = query.cursor === undefined ? undefined : readCursor(query.cursor);
  return { limit: query.limit ?? PAGE_DEFAULT, after, search: query.search };
}

export function cursorBehind({ names, hasMore }: NamePage): string | null {
  const last = names.at(-1);
  return hasMore && last !== undefined ? writeCursor(last) : null;
}

export function writeCursor(name: string): string {
  return Buffer.from(name, 'utf8').toString('base64url');
}

/** @throws AdminError */
export function readCursor(cursor: string): string {
  const name = Buffer.from(cursor, 'base64url').toString('utf8');
  if (writeCursor(name) !== cursor) {
    throw unknownCursor();
  }
  return name;
}

export function unknownCursor(): AdminError {
  return new AdminError('invalid_request', 'cursor: is not one that this list gave', {
    field: 'cursor',
    hint: 'leave it out for the first page',
  });
}
