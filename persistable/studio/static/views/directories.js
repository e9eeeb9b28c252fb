// SPDX-License-Identifier: Apache-2.0

import {get} from '../api.js';
import {el, put} from '../dom.js';
import {bytes, flat} from '../format.js';
import {badge, button, crumbs, empty, facts, fault, foreign, heading, link, notice, table, to} from '../parts.js';

const pageSize = 200;

export async function show({p, signal, go}) {
  const tree = el('div', {role: 'tree', class: 'tree', 'aria-label': 'Directories'});
  const detail = el('div', {class: 'detail'});
  const context = {tree, signal, selected: p, select: path => go(to('directories', {p: path}), {focus: false}), opened: remembered(p)};
  const [state, roots] = await Promise.all([get('state', {}, signal), branch(context, [], 1)]);
  put(tree, roots);
  if (p.length) await describe(detail, p, signal);
  else put(detail, empty('Choose a directory', 'Its prefix, its size and the records in it are shown here.'));
  return {
    title: p.length ? p.at(-1) : 'Directories',
    body: [
      heading('Directories', el('span', {class: 'quiet'}, `${bytes(state.bytes)} in all`)),
      el('p', {class: 'lead'}, 'A directory is a named prefix of keys. The size of a partition has all that is in it; large sizes are estimates.'),
      roots.length ? el('div', {class: 'split'}, tree, detail) : empty('No directories', 'The directory layer of this database is empty.'),
    ],
    ready: () => tree.querySelector('[aria-selected=true]')?.scrollIntoView({block: 'nearest'}),
  };
}

// Directories that are open stay open when another one is chosen.
const open = new Set();

function remembered(p) {
  p.forEach((_, i) => open.add(JSON.stringify(p.slice(0, i + 1))));
  return open;
}

// branch returns the items of the directories in one, with those in them that are open.
async function branch(context, path, level, after = '') {
  const {entries, next, unreadable} = await get('directories', {p: path, limit: pageSize, after}, context.signal);
  const nested = await Promise.all(entries.map(e => !e.leaf && context.opened.has(JSON.stringify([...path, e.name])) ? branch(context, [...path, e.name], level + 1) : []));
  const items = entries.flatMap((e, i) => [item(context, e, [...path, e.name], level), ...nested[i]]);
  if (unreadable) items.push(el('div', {role: 'none', 'data-key': JSON.stringify([...path, ''])}, notice('bad', flat(unreadable))));
  if (next) items.push(more(context, path, level, next));
  return items;
}

function item(context, entry, path, level) {
  const key = JSON.stringify(path);
  const selected = JSON.stringify(context.selected) === key;
  const node = el('div', {
    role: 'treeitem', class: 'item', tabindex: selected || !context.tree.dataset.first ? '0' : '-1', 'data-row': true, 'data-key': key, 'aria-level': level, 'aria-label': `${flat(entry.name)}, ${bytes(entry.bytes)}`,
    'aria-selected': String(selected), 'aria-expanded': entry.leaf ? null : String(context.opened.has(key)),
    onclick: e => e.target.closest('.twist') && !entry.leaf ? toggle(context, node, path, level) : context.select(path),
    onkeydown: e => press(context, e, node, entry, path, level),
  }, el('span', {class: 'twist', 'aria-hidden': 'true'}), el('span', {class: 'name'}, foreign(entry.name)),
  entry.error ? badge('cannot be read', 'bad') : null, entry.layer ? badge(flat(entry.layer)) : null, entry.system ? badge('system', 'plain') : null, el('span', {class: 'size'}, bytes(entry.bytes)));
  context.tree.dataset.first = 'yes';
  node.style.setProperty('--level', level - 1);
  return node;
}

function more(context, path, level, next) {
  const load = async () => {
    try {
      row.replaceWith(...await branch(context, path, level, next));
    } catch (error) {
      if (error.name !== 'AbortError') put(row, fault(error, load));
    }
  };
  const row = el('div', {class: 'item more', role: 'none', 'data-key': JSON.stringify([...path, ''])}, button('Show more', load));
  row.style.setProperty('--level', level - 1);
  return row;
}

async function toggle(context, node, path, level) {
  const key = node.dataset.key;
  if (node.getAttribute('aria-expanded') === 'true') {
    context.opened.delete(key);
    node.opening = null;
    node.setAttribute('aria-expanded', 'false');
    for (let below = node.nextElementSibling; below && below.dataset.key?.startsWith(key.slice(0, -1) + ','); below = node.nextElementSibling) below.remove();
    return;
  }
  context.opened.add(key);
  node.setAttribute('aria-expanded', 'true');
  const opening = node.opening = {}; // other clicks may come before the answer
  try {
    const items = await branch(context, path, level + 1);
    if (node.opening === opening) node.after(...items);
  } catch (error) {
    if (error.name === 'AbortError' || node.opening !== opening) return;
    const row = fault(error, () => {
      row.remove();
      node.setAttribute('aria-expanded', 'false');
      toggle(context, node, path, level);
    });
    row.dataset.key = JSON.stringify([...path, '']);
    node.after(row);
  }
}

function press(context, e, node, entry, path, level) {
  const items = [...context.tree.querySelectorAll('[role=treeitem]')];
  const at = items.indexOf(node);
  const expanded = node.getAttribute('aria-expanded');
  const focus = to => {
    if (!to) return;
    items.forEach(i => { i.tabIndex = i === to ? 0 : -1; });
    to.focus();
  };
  const acts = {
    ArrowDown: () => focus(items[at + 1]),
    ArrowUp: () => focus(items[at - 1]),
    Home: () => focus(items[0]),
    End: () => focus(items.at(-1)),
    ArrowRight: () => expanded === 'false' ? toggle(context, node, path, level) : expanded === 'true' ? focus(items[at + 1]) : null,
    ArrowLeft: () => expanded === 'true' ? toggle(context, node, path, level) : focus(items.slice(0, at).findLast(i => Number(i.ariaLevel) < level)),
    Enter: () => context.select(path),
    ' ': () => context.select(path),
  };
  if (acts[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) {
    e.preventDefault();
    acts[e.key]();
  }
}

// describe shows a directory.
async function describe(detail, p, signal) {
  const [here, {stores, more: moreStores}] = await Promise.all([get('directory', {p}, signal), get('types', {p}, signal)]);
  put(detail, crumbs(p.slice(0, -1), p.at(-1)), el('h2', null, foreign(p.at(-1))),
    facts(['Size', bytes(here.bytes)], ['Prefix', el('code', null, here.prefix || '—')], ['Layer', here.layer ? flat(here.layer) : el('span', {class: 'quiet'}, 'none')], here.system ? ['Use', 'the database’s own; it must not be moved or removed'] : null),
    el('p', {class: 'links'}, link('sizes', {p}, 'Sizes in it'), ' ', link('tenants', {p}, 'Its directories as tenants')),
    el('h3', null, 'Stores in it and below'),
    stores.length ? table('Stores', [{name: 'Type'}, {name: 'Directory', wide: true}], stores.slice(0, 50).map(s => [link('records', {p: s.path, type: s.type}, foreign(s.type)), foreign(s.path.slice(p.length).join('/') || 'here')]))
      : el('p', {class: 'quiet'}, 'No directory here has the header of a store.'),
    stores.length > 50 || moreStores ? el('p', {class: 'quiet'}, 'There are more. ', link('types', {p}, 'Show all')) : null);
}
