// SPDX-License-Identifier: Apache-2.0

import {el, put} from './dom.js';
import {flat} from './format.js';
import {to} from './parts.js';

const shortcuts = [
  ['/', 'search, or filter this view'],
  ['j  k  ↓  ↑', 'next and previous row'],
  ['Enter', 'open the row'],
  ['← →', 'close and open a directory in the tree'],
  ['g then o d t y s l m', 'overview, directories, tenants, types, sizes, leases, metrics'],
  ['Ctrl K', 'go to a view or a type by its name'],
  ['Esc', 'close a dialog, leave a field'],
  ['?', 'this list'],
];

// modal shows a dialog that closes by itself. The browser tells of a closed dialog a while later: one
// that is still there goes first, since no two elements may have the same id.
function modal(label, ...children) {
  for (const closed of document.querySelectorAll('dialog:not([open])')) closed.remove();
  const before = document.activeElement;
  const dialog = el('dialog', {'aria-label': label, onclose: () => {
    dialog.remove();
    if (!document.querySelector('dialog[open]')) before?.focus?.();
  }, onclick: e => { if (e.target === dialog) dialog.close(); }}, children);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// openHelp lists the keys.
export function openHelp() {
  const close = el('button', {type: 'button', onclick: () => dialog.close()}, 'Close');
  const dialog = modal('Keys', el('h2', null, 'Keys'), el('dl', {class: 'keys'}, shortcuts.map(([keys, about]) =>
    el('div', null, el('dt', null, el('kbd', null, keys)), el('dd', null, about)))), el('div', {class: 'actions'}, close));
}

// openPalette lets the user choose a view or a type by its name.
export async function openPalette(load) {
  if (document.querySelector('dialog[open]')) return;
  let items = [];
  let chosen = 0;
  const input = el('input', {type: 'text', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'palette', 'aria-label': 'Go to', placeholder: 'A view, a type, a path…', autocomplete: 'off', spellcheck: 'false'});
  const list = el('ul', {id: 'palette', role: 'listbox', 'aria-label': 'Places'});
  const dialog = modal('Go to', input, list);
  dialog.classList.add('palette');
  const found = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const named = items.filter(i => !i.always && words.every(w => `${i.text} ${i.about}`.toLowerCase().includes(w))).slice(0, 50);
    return [...named, ...items.filter(i => i.always)];
  };
  const draw = () => {
    const all = found();
    chosen = Math.max(0, Math.min(chosen, all.length - 1));
    put(list, all.length ? all.map((item, i) => el('li', {id: `place-${i}`, role: 'option', 'aria-selected': String(i === chosen), onclick: () => leave(item)}, el('span', null, flat(item.text)), el('span', {class: 'quiet'}, flat(item.about)))) : el('li', {class: 'quiet', role: 'option', 'aria-selected': 'false'}, 'Nothing has that name.'));
    input.setAttribute('aria-activedescendant', all.length ? `place-${chosen}` : '');
    list.children[chosen]?.scrollIntoView({block: 'nearest'});
  };
  const leave = item => {
    dialog.close();
    go(item.address);
  };
  input.addEventListener('input', () => { chosen = 0; draw(); });
  input.addEventListener('keydown', e => {
    const step = {ArrowDown: 1, ArrowUp: -1}[e.key];
    if (step) {
      e.preventDefault();
      chosen += step;
      draw();
    } else if (e.key === 'Enter' && found()[chosen]) {
      e.preventDefault();
      leave(found()[chosen]);
    }
  });
  input.focus();
  draw();
  items = await load().catch(() => []);
  draw();
}

let go = () => {};

// bindKeys listens to the keys of all views.
export function bindKeys({go: lead, navigation, paletteItems}) {
  go = lead;
  const views = Object.fromEntries(navigation.map(([view, , key]) => [key, view]));
  let prefix = 0;
  addEventListener('keydown', e => {
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') {
      e.preventDefault();
      openPalette(paletteItems);
      return;
    }
    if (e.key === 'Escape' && typing(e.target) && !document.querySelector('dialog[open]')) e.target.blur();
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || typing(e.target) || document.querySelector('dialog[open]')) return;
    if (Date.now() - prefix < 1500 && e.key in views) {
      prefix = 0;
      e.preventDefault();
      lead(to(views[e.key]));
      return;
    }
    prefix = e.key === 'g' ? Date.now() : 0;
    const act = {'/': search, '?': openHelp, j: () => step(1), k: () => step(-1)}[e.key];
    if (act) {
      e.preventDefault();
      act();
    } else if ((e.key === 'ArrowDown' || e.key === 'ArrowUp') && e.target.closest?.('[data-row]') && !e.target.closest('[role=tree]')) {
      e.preventDefault();
      step(e.key === 'ArrowDown' ? 1 : -1);
    }
  });
}

function typing(node) { return node.closest?.('input:not([type=checkbox]), textarea, select, [contenteditable]'); }

function search() { document.querySelector('main [data-search]')?.focus(); }

// step moves the focus to the first link or button of the next row.
function step(by) {
  const rows = [...document.querySelectorAll('main [data-row]')].filter(row => row.offsetParent);
  const at = rows.findIndex(row => row.contains(document.activeElement));
  const row = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by))];
  const target = row?.matches('a, button, [tabindex]') ? row : row?.querySelector('a, button, [tabindex]');
  target?.focus();
  row?.scrollIntoView({block: 'nearest'});
}
