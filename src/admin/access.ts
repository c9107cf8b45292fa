// Who may call a route. Each route names the role it needs; a route without one stops the start. There is no
// authentication yet, so the only policy lets everyone in, but every call passes here, from whatever address.
import type { Access, Operation, Principal, ResourceKind } from '../../protocols/port.ts';
import { AdminError, type ErrorCode } from './errors.ts';

/** `anyone`: health checks, which come before anyone can have been told a password. `viewer`: reads state; `operator`: changes it. */
export type Role = 'anyone' | 'viewer' | 'operator';

declare module 'fastify' {
  interface FastifyContextConfig {
    role?: Role;
    /** What it may refuse, besides what any route like it may: for the document. */
    refuses?: readonly ErrorCode[];
    /** The handler is given the bytes of the body, whatever type it has. */
    rawBody?: boolean;
  }
  interface FastifyRequest {
    principal: Principal;
  }
}

/** @throws AdminError `forbidden` when the principal does not have the role. */
export type Authorize = (principal: Principal, role: Role) => void;

/** A caller from loopback is as anonymous as any other: programs of other users and web pages call from there too. */
export function anonymous(listener: string, remoteAddress: string): Principal {
  return { name: 'ANONYMOUS', listener, remoteAddress };
}

export const letEveryoneIn: Authorize = () => {};

/** The access rules that bind every door bind this one. */
export function requireAccess(
  access: Access,
  principal: Principal,
  operation: Operation,
  kind: ResourceKind,
  name: string,
): void {
  if (!access.allows(principal, operation, kind, name)) {
    throw new AdminError('forbidden', `${principal.name} may not ${operation} ${kind} ${name}`);
  }
}
