// SPDX-License-Identifier: Apache-2.0

import {el, put, svg} from './dom.js';

const width = 480, height = 132, left = 4, right = 4, top = 10, bottom = 8;

// ceiling returns a round number that is not below n: 1, 2, 2.5 or 5 times a power of ten.
export function ceiling(n) {
  if (!(n > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 2.5, 5, 10].map(f => f * power).find(c => c >= n * 0.9999);
}

// chart draws lines over time. Series are {name, values, class}; times are milliseconds.
export function chart({title, unit, times, series, show}) {
  const most = ceiling(Math.max(0, ...series.flatMap(s => s.values).filter(Number.isFinite)));
  const begin = times[0], end = times.at(-1);
  const x = t => end > begin ? left + (t - begin) / (end - begin) * (width - left - right) : width - right;
  const y = v => height - bottom - v / most * (height - top - bottom);
  const readout = el('output', {class: 'readout'});
  const last = times.length - 1;
  const describe = i => series.map(s => `${series.length > 1 ? s.name + ' ' : ''}${show(s.values[i] ?? 0)}`).join(' · ');
  const marker = svg('line', {class: 'marker', y1: top, y2: height - bottom, x1: -9, x2: -9});
  const tell = i => {
    put(readout, el('strong', null, describe(i)), i === last ? '' : el('span', {class: 'quiet'}, ` ${Math.round((times[i] - end) / 1000)} s`));
    marker.setAttribute('x1', i === last ? -9 : x(times[i]));
    marker.setAttribute('x2', i === last ? -9 : x(times[i]));
  };
  const drawing = svg('svg', {viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${title}: now ${describe(last)}, at most ${show(most)} in the window`},
    [0, 0.5, 1].map(f => svg('line', {class: 'grid', x1: left, x2: width - right, y1: y(most * f), y2: y(most * f)})),
    series.map(s => [
      series.length === 1 ? svg('polygon', {class: `area ${s.class}`, points: [`${x(begin)},${y(0)}`, ...times.map((t, i) => `${x(t)},${y(s.values[i] ?? 0)}`), `${x(end)},${y(0)}`].join(' ')}) : null,
      svg('polyline', {class: `line ${s.class}`, points: times.map((t, i) => `${x(t)},${y(s.values[i] ?? 0)}`).join(' ')})]),
    marker);
  drawing.addEventListener('pointermove', e => {
    const box = drawing.getBoundingClientRect();
    const share = ((e.clientX - box.left) / box.width * width - left) / (width - left - right);
    tell(Math.max(0, Math.min(last, Math.round(share * last))));
  });
  drawing.addEventListener('pointerleave', () => tell(last));
  tell(last);
  return el('figure', {class: 'chart'}, el('figcaption', null, el('span', null, title, unit ? el('span', {class: 'quiet'}, ` ${unit}`) : null), readout),
    el('div', {class: 'plot'}, drawing, el('span', {class: 'most', 'aria-hidden': 'true'}, show(most))),
    series.length > 1 ? el('div', {class: 'legend'}, series.map(s => el('span', {class: s.class}, s.name))) : null);
}
