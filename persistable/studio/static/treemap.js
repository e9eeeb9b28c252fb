// SPDX-License-Identifier: Apache-2.0

// squarify divides a rectangle among sizes, so that the parts are as square as possible: rows of
// parts are added along the shorter side while that makes the worst part of the row squarer.
// (Bruls, Huizing, van Wijk: Squarified Treemaps, 2000.)
// Items are {size}, in descending order; it returns {item, x, y, width, height} for each.
export function squarify(items, x, y, width, height) {
  const total = items.reduce((sum, i) => sum + i.size, 0);
  const placed = [];
  if (!(total > 0)) return placed;
  const scale = width * height / total;
  let rest = items.filter(i => i.size > 0).map(item => ({item, area: item.size * scale}));
  while (rest.length) {
    const side = Math.min(width, height);
    let n = 1;
    while (n < rest.length && worst(rest.slice(0, n + 1), side) <= worst(rest.slice(0, n), side)) n++;
    const row = rest.slice(0, n);
    const area = row.reduce((sum, r) => sum + r.area, 0);
    const depth = side > 0 ? area / side : 0;
    let at = 0;
    for (const {item, area: part} of row) {
      const length = depth > 0 ? part / depth : 0;
      placed.push(width >= height ? {item, x, y: y + at, width: depth, height: length} : {item, x: x + at, y, width: length, height: depth});
      at += length;
    }
    if (width >= height) {
      x += depth;
      width -= depth;
    } else {
      y += depth;
      height -= depth;
    }
    rest = rest.slice(n);
  }
  return placed;
}

// worst returns the greatest ratio of sides in a row.
function worst(row, side) {
  const sum = row.reduce((s, r) => s + r.area, 0);
  const largest = Math.max(...row.map(r => r.area));
  const least = Math.min(...row.map(r => r.area));
  return Math.max(side * side * largest / (sum * sum), sum * sum / (side * side * least));
}
