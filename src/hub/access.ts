// The access rule that binds every door. This build knows one policy: a listener that may be reached at all may
// do everything; the configuration refuses a listener beyond loopback that does not say `anonymous = true`.
import type { Access } from '../../protocols/port.ts';

export const ALLOW_ALL: Access = { allows: () => true };
