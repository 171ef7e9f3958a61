/** A cell that a pixel overlaps. */
interface Coverage {
  /** Index of the cell in its row or column. */
  readonly cell: number;
  /** Share of the pixel that the cell covers. */
  readonly share: number;
}

/** For each of `size` pixels in a row or column, the cells that it overlaps. */
function coverageOf(size: number, cells: number): readonly (readonly Coverage[])[] {
  const ratio = cells / size;
  return Array.from({ length: size }, (_, pixel) => {
    const [from, to] = [pixel * ratio, (pixel + 1) * ratio];
    const first = Math.floor(from);
    return Array.from({ length: Math.min(Math.ceil(to), cells) - first }, (_, index) => {
      const cell = first + index;
      return { cell, share: (Math.min(cell + 1, to) - Math.max(cell, from)) / ratio };
    });
  });
}

/** Scales a square of `cells` by `cells` down to fewer pixels: returns the dark share of each pixel, 0 to 1. */
export function darkShares(
  size: number,
  cells: number,
  isDark: (x: number, y: number) => boolean,
): (x: number, y: number) => number {
  const covers = coverageOf(size, cells);
  return (x, y) => {
    let dark = 0;
    for (const row of covers[y] ?? []) {
      for (const column of covers[x] ?? []) {
        if (isDark(column.cell, row.cell)) dark += column.share * row.share;
      }
    }
    return dark;
  };
}
