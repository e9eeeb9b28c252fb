// SPDX-License-Identifier: Apache-2.0

import {get} from '../api.js';
import {el} from '../dom.js';
import {bytes, count, flat} from '../format.js';
import {badge, empty, facts, foreign, heading, link, notice, table, unseen} from '../parts.js';
import {pathText} from '../parts.js';
import {healthSection} from '../health.js';

export async function show({info, signal}) {
  const isCluster = info.engine === 'cluster';
  const [state, {stores, more}, {sets}, health] = await Promise.all([get('state', {}, signal), get('types', {}, signal), get('sets', {}, signal), isCluster ? get('health', {}, signal) : null]);
  const byType = Map.groupBy ? Map.groupBy(stores, s => `${s.type}\n${s.directory}`) : group(stores);
  const rows = [...byType.values()].map(all => [
    link(all.length === 1 ? 'records' : 'types', all.length === 1 ? {p: all[0].path, type: all[0].type} : {q: all[0].type}, foreign(all[0].type)),
    el('span', {class: 'mono'}, flat(all[0].directory)),
    count(all.length),
    unready(all),
  ]);
  return {
    title: 'Overview',
    body: [
      heading('Overview'),
      facts(
        ['Database', foreign(info.database || 'database')],
        ['Engine', isCluster ? 'FoundationDB cluster' : 'embedded'],
        ['Size', bytes(state.bytes), el('span', {class: 'quiet'}, ' estimated')],
        ['Read version', el('span', {class: 'mono'}, state.version)],
        ['This page', info.write ? 'reads and writes' : 'reads only'],
      ),
      info.engine === 'embedded' ? notice('plain', 'The database is embedded: it is open by the program that serves this page, and no other can open it until that one ends.') : null,
      health ? healthSection(health) : null,
      el('section', null, el('h2', null, 'Types'),
        rows.length ? table('Types', [{name: 'Type'}, {name: 'Directory', wide: true}, {name: 'Stores', number: true}, {name: 'Indexes'}], rows)
          : empty('No records yet', 'No directory of this database has the header of a store. Stores appear with the first record that a program creates.'),
        more ? unseen(stores.length) : null),
      sets.length ? el('section', null, el('h2', null, 'Tenants'),
        table('Sets of tenants', [{name: 'In the directory'}, {name: 'Types', wide: true}], sets.map(s => [link('tenants', {p: s.path}, foreign(pathText(s.path))), flat(s.types.join(', '))]))) : null,
    ],
  };
}

function group(stores) {
  const groups = new Map();
  for (const s of stores) {
    const key = `${s.type}\n${s.directory}`;
    groups.set(key, [...groups.get(key) ?? [], s]);
  }
  return groups;
}

function unready(all) {
  const broken = all.filter(s => s.error).length;
  const n = all.reduce((sum, s) => sum + s.unready, 0);
  if (broken) return badge(`${broken} cannot be opened`, 'bad');
  return n ? badge(`${n} not readable`, 'warn') : badge('all readable', 'good');
}
