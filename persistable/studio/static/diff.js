// SPDX-License-Identifier: Apache-2.0

// diff compares two texts line by line, and returns the lines with their signs: " ", "-" or "+".
// It finds a longest common subsequence.
export function diff(before, after) {
  const a = before.split('\n'), b = after.split('\n');
  const longest = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const lines = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push([' ', a[i]]);
      i++;
      j++;
    } else if (j >= b.length || i < a.length && longest[i + 1][j] >= longest[i][j + 1]) lines.push(['-', a[i++]]);
    else lines.push(['+', b[j++]]);
  }
  return lines;
}
