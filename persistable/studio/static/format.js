// SPDX-License-Identifier: Apache-2.0

const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

// bytes shows a size with three digits.
export function bytes(n) {
  let unit = 0;
  while (n >= 999.5 && unit < units.length - 1) {
    n /= 1000;
    unit++;
  }
  return `${unit === 0 ? n : n < 9.995 ? n.toFixed(2) : n < 99.95 ? n.toFixed(1) : Math.round(n)}\u00a0${units[unit]}`;
}

const whole = new Intl.NumberFormat('en', {maximumFractionDigits: 0});
const short = new Intl.NumberFormat('en', {maximumSignificantDigits: 3, notation: 'compact'});

// count shows a number with separators.
export function count(n) { return whole.format(n); }

// brief shows a number with three digits.
export function brief(n) { return short.format(n); }

// plural shows a number with its noun.
export function plural(n, one, many = one + 's') { return `${count(n)} ${n === 1 ? one : many}`; }

const pad = (n, width = 2) => String(n).padStart(width, '0');

// time shows a moment in the reader's zone.
export function time(text) {
  const t = new Date(text);
  if (Number.isNaN(t.getTime())) return String(text);
  return `${t.getFullYear()}-${pad(t.getMonth() + 1)}-${pad(t.getDate())} ${pad(t.getHours())}:${pad(t.getMinutes())}:${pad(t.getSeconds())}`;
}

// span shows a duration in milliseconds with two units.
export function span(ms) {
  const seconds = Math.round(Math.abs(ms) / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds % 86400 / 3600)} h`;
}

// Characters that are not seen, or that change the direction of what follows. Line breaks and tabs
// are seen.
const hidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]/g;

// printable shows hidden characters as escapes, as they stand in JSON.
export function printable(text) {
  return String(text).replace(hidden, c => '\\u' + pad(c.charCodeAt(0).toString(16), 4));
}

// flat is printable on one line.
export function flat(text) {
  return printable(text).replace(/[\n\t\r]/g, c => ({'\n': '\\n', '\t': '\\t', '\r': '\\r'})[c]);
}

// path shows the path of a directory as the command writes it.
export function path(elements) {
  if (!elements?.length) return '/';
  return elements.map(e => e === '.' || e === '..' ? e.replaceAll('.', '\\x2e') : flat(e).replace(/\//g, '\\/')).join('/');
}
