// How `polylog consume` prints a record: the API's own line where it can, so that no number loses a digit; else as a
// format or a form of bytes asks for.

interface Shown {
  readonly key: string;
  readonly value: string;
  readonly format?: string;
}

interface PrintedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  key: unknown;
  keyEncoding: string | null;
  value: unknown;
  valueEncoding: string | null;
  readonly headers: readonly { readonly name: string; readonly value: string | null }[];
}

/** @returns what makes a line to print, with its end, of a line of the API. */
export function recordPrinter({ key, value, format }: Shown): (line: string) => string {
  const isHex = key === 'hex' || value === 'hex';
  if (!isHex && format === undefined) return (line) => `${line}\n`;
  return (line) => {
    const record = JSON.parse(line) as PrintedRecord; // the API's schema says so
    if (key === 'hex') {
      record.key = hexOf(record.key);
      record.keyEncoding = record.key === null ? null : 'hex';
    }
    if (value === 'hex') {
      record.value = hexOf(record.value);
      record.valueEncoding = record.value === null ? null : 'hex';
    }
    return `${format === undefined ? JSON.stringify(record) : formatted(record, format)}\n`;
  };
}

function hexOf(base64: unknown): string | null {
  return typeof base64 === 'string' ? Buffer.from(base64, 'base64').toString('hex') : null;
}

const FIELDS: Readonly<Record<string, (record: PrintedRecord) => string>> = {
  t: ({ topic }) => topic,
  p: ({ partition }) => String(partition),
  o: ({ offset }) => String(offset),
  T: ({ timestampMs }) => String(timestampMs),
  k: ({ key }) => textOf(key),
  v: ({ value }) => textOf(value),
  h: ({ headers }) => headers.map(({ name, value }) => `${name}=${value ?? ''}`).join(','),
};

function formatted(record: PrintedRecord, format: string): string {
  return format.replace(/%(.)|\\([nt])/g, (all, field: string | undefined, control: string | undefined) => {
    if (control !== undefined) return control === 'n' ? '\n' : '\t';
    return field === '%' ? '%' : (FIELDS[field ?? '']?.(record) ?? all);
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
}
