// SPDX-License-Identifier: Apache-2.0

import {get} from '../api.js';
import {el, put} from '../dom.js';
import {bytes, flat} from '../format.js';
import {badge, crumbs, empty, foreign, heading, link, meter, table, to} from '../parts.js';
import {squarify} from '../treemap.js';

const most = 60;

export async function show({p, signal, go}) {
  const {root} = await get('sizes', {p}, signal);
  const map = el('div', {class: 'treemap', role: 'group', 'aria-label': 'Sizes of the directories: use the arrow keys'});
  const parts = divide(root);
  const draw = () => drawMap(map, parts, p, go);
  const observer = new ResizeObserver(() => draw());
  signal.addEventListener('abort', () => observer.disconnect());
  return {
    title: p.length ? `Sizes in ${p.at(-1)}` : 'Sizes',
    body: [
      crumbs(p), heading(p.length ? ['Sizes in ', foreign(p.at(-1))] : 'Sizes', el('span', {class: 'quiet'}, bytes(root.bytes), root.bytes >= 65536 ? ' estimated' : '')),
      el('p', {class: 'lead'}, 'Estimates by the engine’s sample, without reading the data: one above 3 MB is about 10\u00a0% off. Small directories are counted.', p.length ? [' ', link('sizes', {p: p.slice(0, -1)}, 'Zoom out')] : null),
      parts.length ? [map, list(root, parts, p)] : empty('Nothing to measure', root.bytes ? 'There are no directories in this one.' : 'By the estimate, nothing is in here.'),
      root.more ? el('p', {class: 'quiet'}, 'There are more directories than are measured at once: zoom in to see those of one.') : null,
    ],
    ready: () => { draw(); observer.observe(map); },
  };
}

// divide returns the directories with a size, the largest first, the smallest together, and the
// keys of the directory itself.
function divide(root) {
  const all = root.children.filter(c => c.bytes > 0).map(c => ({...c, size: c.bytes})).sort((a, b) => b.size - a.size);
  const shown = all.slice(0, most);
  const rest = all.slice(most).reduce((sum, c) => sum + c.size, 0);
  if (rest) shown.push({label: `${all.length - most} smaller`, size: rest});
  if (root.own > 0 && all.length) shown.push({label: 'keys of its own', size: root.own});
  return shown.sort((a, b) => b.size - a.size);
}

function drawMap(map, parts, p, go) {
  const {width, height} = map.getBoundingClientRect();
  if (!width || !height) return;
  const focused = Number(document.activeElement?.dataset?.index ?? -1);
  const inMap = map.contains(document.activeElement);
  const placed = squarify(parts, 0, 0, width, height);
  const tiles = placed.map(({item, ...box}, i) => tile(item, box, i, p));
  put(map, tiles);
  const first = inMap ? focused : 0;
  tiles.forEach((t, i) => { t.tabIndex = i === first ? 0 : -1; });
  if (inMap) tiles[focused]?.focus();
  map.onkeydown = e => {
    const direction = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[e.key];
    const at = tiles.indexOf(document.activeElement);
    if (direction && at >= 0) {
      e.preventDefault();
      const next = nearest(placed, at, direction);
      tiles.forEach((t, i) => { t.tabIndex = i === next ? 0 : -1; });
      tiles[next].focus();
    } else if ((e.key === 'Backspace' || e.key === '-') && p.length) {
      e.preventDefault();
      go(to('sizes', {p: p.slice(0, -1)}));
    }
  };
}

function tile(item, box, i, p) {
  const inside = item.name !== undefined && item.children?.length;
  const node = el(item.name === undefined ? 'div' : 'a', {class: `tile tone-${item.name === undefined ? 'rest' : i % 6}`, 'data-index': String(i), href: item.name === undefined ? null : to(inside ? 'sizes' : 'directories', {p: [...p, item.name]}),
    'aria-label': `${flat(item.name ?? item.label)}, ${bytes(item.size)}${inside ? ', zoom in' : ''}`, title: `${flat(item.name ?? item.label)} · ${bytes(item.size)}`});
  Object.assign(node.style, {left: `${box.x}px`, top: `${box.y}px`, width: `${Math.max(0, box.width - 2)}px`, height: `${Math.max(0, box.height - 2)}px`});
  if (box.width > 54 && box.height > 22) node.append(el('span', {class: 'tile-name'}, foreign(item.name ?? item.label)));
  if (box.width > 54 && box.height > 42) node.append(el('span', {class: 'tile-size'}, bytes(item.size)));
  if (inside && box.width > 90 && box.height > 74) {
    const inner = squarify(item.children.filter(c => c.bytes > 0).map(c => ({...c, size: c.bytes})).sort((a, b) => b.size - a.size).slice(0, 40), 6, 44, box.width - 14, box.height - 52);
    node.append(...inner.map(({item: below, width, height, x, y}) => {
      const part = el('span', {class: 'part', 'aria-hidden': 'true'}, width > 60 && height > 20 ? el('span', {class: 'part-name'}, foreign(below.name)) : null);
      Object.assign(part.style, {left: `${x}px`, top: `${y}px`, width: `${Math.max(0, width - 1)}px`, height: `${Math.max(0, height - 1)}px`});
      return part;
    }));
  }
  return node;
}

// nearest returns the tile with the nearest middle in a direction.
function nearest(placed, at, [dx, dy]) {
  const middle = b => [b.x + b.width / 2, b.y + b.height / 2];
  const [x, y] = middle(placed[at]);
  let best = at, least = Infinity;
  placed.forEach((b, i) => {
    const [bx, by] = middle(b);
    const along = (bx - x) * dx + (by - y) * dy;
    const across = Math.abs((bx - x) * dy) + Math.abs((by - y) * dx);
    if (i !== at && along > 1 && along + 2 * across < least) {
      least = along + 2 * across;
      best = i;
    }
  });
  return best;
}

function list(root, parts, p) {
  return el('section', null, el('h2', null, 'As a list'), table('Sizes', [{name: 'Directory', wide: true}, {name: 'Size', number: true}, {name: 'Share', wide: true}], parts.map(c => [
    c.name === undefined ? el('span', {class: 'quiet'}, c.label) : [link(c.children?.length ? 'sizes' : 'directories', {p: [...p, c.name]}, foreign(c.name)), c.layer ? [' ', badge(flat(c.layer))] : null],
    bytes(c.size), el('span', {class: 'of'}, meter('Share', c.size / root.bytes), `${(c.size / root.bytes * 100).toFixed(1)} %`)])));
}
