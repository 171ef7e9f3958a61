interface Cover {
  readonly cell: number;
  /** Share of the pixel. */
  readonly share: number;
}

/** The cells of a row or column that each of `size` pixels covers, more or less. */
function coversOf(size: number, cells: number): readonly (readonly Cover[])[] {
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

/** A square of `cells` by `cells` on fewer pixels: how much of each pixel is dark, 0 to 1. */
export function darkShares(
  size: number,
  cells: number,
  isDark: (x: number, y: number) => boolean,
): (x: number, y: number) => number {
  const covers = coversOf(size, cells);
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
