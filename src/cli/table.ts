// Rows for people: columns as wide as their widest cell, two spaces between them.

export type Cell = string | number | null;

/** @returns whole lines; null is shown as `-`. */
export function table(headings: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = [headings, ...rows.map((row) => row.map((cell) => (cell === null ? '-' : plain(`${cell}`))))];
  const widths = headings.map((_heading, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** Names come from clients: what would steer a terminal is shown as `?`. */
function plain(text: string): string {
  return text.replace(/\p{Cc}/gu, '?');
}
