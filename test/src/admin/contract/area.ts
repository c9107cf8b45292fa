// What the contract test asks of each part of the admin API: a table of calls, right and wrong, for each of its routes.
import type { AdminFixture, Call } from '../admin-fixture.ts';

export interface RightCall extends Call {
  /** 200 unless told. */
  readonly status?: number;
  /** Of the answer; JSON unless told. */
  readonly type?: string;
}

/** What is refused, with which code, and which field is to blame. */
export interface WrongCall extends Call {
  readonly refused: readonly [status: number, code: string, field?: string];
}

export interface RouteCalls {
  /** In this order. At least one. */
  readonly right: readonly (RightCall | string)[];
  readonly wrong: readonly WrongCall[];
}

/** Keys are method and path as in the document: `GET /api/v1/topics/{topic}`. */
export interface Area {
  prepare?(admin: AdminFixture): Promise<void>;
  readonly routes: Readonly<Record<string, RouteCalls>>;
}

export function refused(path: string, ...what: WrongCall['refused']): WrongCall {
  return { path, refused: what };
}

/** What every list refuses. */
export function pagedWrong(path: string): WrongCall[] {
  return [
    refused(`${path}?limit=0`, 400, 'invalid_request', 'limit'),
    refused(`${path}?limit=1001`, 400, 'invalid_request', 'limit'),
    refused(`${path}?limit=x`, 400, 'invalid_request', 'limit'),
    refused(`${path}?limit=`, 400, 'invalid_request', 'limit'),
    refused(`${path}?limit=1&limit=2`, 400, 'invalid_request', 'limit'),
    refused(`${path}?cursor=*`, 400, 'invalid_request', 'cursor'),
    refused(`${path}?serach=x`, 400, 'invalid_request', 'serach'),
  ];
}
