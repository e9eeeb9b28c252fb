// SPDX-License-Identifier: Apache-2.0

import {get, search} from '../api.js';
import {el, put} from '../dom.js';
import {count, plural} from '../format.js';
import {badge, crumbs, empty, foreign, heading, link, table, unseen} from '../parts.js';

const shownAtOnce = 200;

export async function show({p, query, signal}) {
  const {stores, more} = await get('types', {p}, signal);
  const list = el('div');
  const filter = el('input', {type: 'search', 'data-search': true, placeholder: 'Type or path', 'aria-label': 'Filter the stores', oninput: () => {
    history.replaceState(null, '', `./types${search({p, q: filter.value})}`);
    draw();
  }});
  filter.value = query.get('q') ?? '';
  const draw = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = stores.filter(s => words.every(w => `${s.type} ${s.path.join('/')}`.toLowerCase().includes(w)));
    put(list, found.length ? table('Stores', [{name: 'Type'}, {name: 'Directory', wide: true}, {name: 'Indexes', number: true}, {name: ''}], found.slice(0, shownAtOnce).map(row))
      : empty(stores.length ? 'No store has that in its type or path' : 'No stores', stores.length ? '' : 'Stores appear with the first record that a program creates.'),
    found.length > shownAtOnce ? el('p', {class: 'quiet'}, `The first ${shownAtOnce} of ${count(found.length)} are shown: filter to see others.`) : null);
  };
  draw();
  return {
    title: 'Types',
    body: [
      p.length ? crumbs(p) : null, heading('Types', el('span', {class: 'quiet'}, `${plural(stores.length, 'store')}${more ? ' and more' : ''}`)),
      el('p', {class: 'lead'}, 'A store is the records of one type in one directory.'),
      more ? unseen(stores.length) : null, el('div', {class: 'toolbar'}, filter), list,
    ],
  };
}

function row(s) {
  if (s.error) return [foreign(s.type), link('directories', {p: s.path}, foreign(s.path.join('/'))), '', [badge('cannot be opened', 'bad'), ' ', foreign(s.error)]];
  return [link('records', {p: s.path, type: s.type}, foreign(s.type)), link('directories', {p: s.path}, foreign(s.path.join('/'))), count(s.indexes),
    [s.unready ? badge(`${s.unready} not readable`, 'warn') : null, s.versions ? [' ', link('changes', {p: s.path, type: s.type}, 'changes')] : null]];
}

