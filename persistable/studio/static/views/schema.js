// SPDX-License-Identifier: Apache-2.0

import {get} from '../api.js';
import {diff} from '../diff.js';
import {el} from '../dom.js';
import {flat, printable, time} from '../format.js';
import {badge, facts, foreign, notice, storeTop, table} from '../parts.js';

export async function show({p, type, signal}) {
  const schema = await get('schema', {p, type}, signal);
  const {versions} = await get('history', {p, type: schema.Type}, signal);
  return {
    title: `${schema.Type} schema`,
    body: [
      storeTop('schema', p, schema.Type),
      schema.refusal ? notice('warn', 'Nothing can be written here: ', foreign(schema.refusal)) : null,
      facts(['Go package', el('span', {class: 'mono'}, flat(schema.Origin || '—'))], ['Directory', el('span', {class: 'mono'}, flat(schema.Directory))],
        ['Ids', schema.ID + (schema.MadeIDs ? ', made on create' : '')], ['Versions', schema.Versions ? 'yes, with a change feed' : 'no'], schema.Scatter ? ['Scattered', `over ${schema.Scatter} shards`] : null),
      el('section', null, el('h2', null, 'Fields'), fields(schema.Fields)),
      schema.Messages.map(m => el('section', null, el('h2', null, 'Struct ', foreign(m.Name)), fields(m.Fields))),
      el('section', null, el('h2', null, 'As text'), el('pre', {tabindex: '0', 'aria-label': 'Schema as text'}, printable(schema.Text.trimEnd()))),
      el('section', null, el('h2', null, 'History'), history(versions)),
    ],
  };
}

function fields(all) {
  return table('Fields', [{name: 'No.', number: true}, {name: 'Name'}, {name: 'Kind', mono: true}, {name: 'Default', mono: true}, {name: '', wide: true}], all.map(f => [
    String(f.Number), foreign(f.Name), flat(f.Kind), f.Default ? flat(f.Default) : '', [f.Argument ? badge('from the directory') : null, f.Was.length ? el('span', {class: 'quiet'}, ` was ${f.Was.map(flat).join(', ')}`) : null]]));
}

// history shows what each version of the schema changed, the newest first.
function history(versions) {
  const ascending = [...versions].sort((a, b) => (a.until ? Date.parse(a.until) : Infinity) - (b.until ? Date.parse(b.until) : Infinity));
  if (ascending.length < 2) return el('p', {class: 'quiet'}, 'The schema of this store has not changed since its first record.');
  return ascending.slice(1).map((version, i) => el('details', {open: i === ascending.length - 2},
    el('summary', null, `Changed ${time(ascending[i].until)}`, version.until ? el('span', {class: 'quiet'}, `, until ${time(version.until)}`) : [' ', badge('present', 'good')]),
    el('pre', {class: 'diff', tabindex: '0'}, diff(ascending[i].schema, version.schema).map(([sign, line]) => el('span', {class: sign === '+' ? 'added' : sign === '-' ? 'removed' : null}, `${sign} ${printable(line)}\n`))))).reverse();
}
