// Rows for people: columns as wide as their widest cell, two spaces between them. On a terminal that is narrower the widest
// columns give way, with an ellipsis.

export type Cell = string | number | null;

const GAP = '  ';
const COLUMN_MIN = 8;

/**
 * @param columnsMax of the terminal; Infinity = nothing is cut
 * @returns whole lines; null is shown as `-`
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  columnsMax = Number.POSITIVE_INFINITY,
): string {
  const cells = [headings, ...rows.map((row) => row.map((cell) => (cell === null ? '-' : plain(`${cell}`))))];
  const widths = fitting(
    headings.map((_heading, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))),
    columnsMax,
  );
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, column) => cut(cell, widths[column] ?? 0))
          .join(GAP)
          .trimEnd()}\n`,
    )
    .join('');
}

/** The widest gives way first, down to a width that still says something. */
function fitting(widths: number[], columnsMax: number): readonly number[] {
  let excess = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - columnsMax;
  while (excess > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest]! <= COLUMN_MIN) break;
    widths[widest]!--;
    excess--;
  }
  return widths;
}

function cut(cell: string, width: number): string {
  return cell.length <= width ? cell.padEnd(width) : `${cell.slice(0, width - 1)}…`;
}

/** Names come from clients: what would steer a terminal is shown as `?`. */
function plain(text: string): string {
  return text.replace(/\p{Cc}/gu, '?');
}
