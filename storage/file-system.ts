// The only file that touches node:fs. FileSystem is the seam where tests put faults.

export interface FileSystem {
  /** @param mode `read`; `write` = read and write an existing file; `create` = the same, and it must not exist. */
  open(path: string, mode: 'read' | 'write' | 'create'): Promise<OpenFile>;
}

export interface OpenFile {
  close(): Promise<void>;
}
