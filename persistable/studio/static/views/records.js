// SPDX-License-Identifier: Apache-2.0

import {get, post, search} from '../api.js';
import {el} from '../dom.js';
import {editRecord, openEditor} from '../editor.js';
import {flat, plural} from '../format.js';
import {badge, button, empty, fault, foreign, link, notice, reference, storeTop, table, to, toast, value} from '../parts.js';

export async function show({p, type, query, signal, info, go, again}) {
  const chosen = {where: query.get('where') ?? '', index: query.get('index') ?? '', value: query.getAll('value'), reverse: query.get('reverse') === '1', deleted: query.get('deleted') === '1', column: query.getAll('column'), token: query.get('token') ?? ''};
  const limit = query.get('limit') ?? '50';
  let found = null, failed = null, schema;
  try {
    found = await get('records', {p, type, ...chosen, limit}, signal);
    schema = found.schema;
  } catch (error) {
    if (error.name === 'AbortError' || error.outage) throw error;
    failed = error;
    schema = await get('schema', {p, type}, signal);
  }
  const form = toolbar({p, type: schema.Type, schema, chosen, limit, go});
  const editor = el('div');
  const writable = info.write && !schema.refusal;
  const edit = writable ? id => editRecord(editor, {p, type: schema.Type, id}, again) : null;
  return {
    title: `${schema.Type} records`,
    body: [
      storeTop('records', p, schema.Type, found ? el('span', {class: 'quiet'}, `${plural(found.rows.length, 'record')}${chosen.token ? ' on this page' : ''}${found.next ? ', and more' : ''}`) : null,
        writable ? button('New…', () => create(editor, p, schema, go), '', {id: 'new'}) : null),
      schema.refusal ? notice('warn', 'Records here can be read, not written: ', foreign(schema.refusal)) : null,
      editor,
      form,
      failed ? fault(failed) : found.rows.length ? list(p, schema, found.rows, chosen.column, edit) : none(chosen),
      found?.rows.length ? exports({p, type: schema.Type, ...chosen, limit}) : null,
      found ? el('nav', {class: 'pager', 'aria-label': 'Pages'},
        chosen.token ? el('a', {href: to('records', {p, type: schema.Type, ...chosen, token: '', limit})}, 'First page') : null,
        found.previous ? el('a', {href: to('records', {p, type: schema.Type, ...chosen, token: found.previous, limit}), rel: 'prev'}, 'Previous page') : null,
        found.next ? el('a', {href: to('records', {p, type: schema.Type, ...chosen, token: found.next, limit}), rel: 'next'}, 'Next page') : null) : null,
      found?.plan ? el('details', null, el('summary', null, 'How the records were found'), el('pre', {tabindex: '0'}, found.plan)) : null,
    ],
  };
}

function none({where, index, value: values}) {
  if (where) return empty('No record fulfils the condition', 'Change the condition, or leave it empty to see all records.');
  if (index && values.length) return empty('The index has no record with these values', 'Change the values, or leave them empty to see all records in the order of the index.');
  return empty('No records', 'The store is there, with its schema and its indexes, but all of its records were deleted.');
}

function toolbar({p, type, schema, chosen, limit, go}) {
  const usable = schema.indexes.filter(i => (!i.kind || i.kind === 'search') && i.state === 'readable');
  const where = el('input', {type: 'search', id: 'where', 'data-search': true, spellcheck: 'false', autocomplete: 'off', placeholder: example(schema), 'aria-describedby': 'where-help'});
  where.value = chosen.where;
  const index = el('select', {id: 'index', onchange: () => submit()}, el('option', {value: ''}, 'of the ids'), usable.map(i => el('option', {value: i.KeyName}, flat(i.KeyName))));
  index.value = usable.some(i => i.KeyName === chosen.index) ? chosen.index : '';
  const values = el('input', {type: 'text', id: 'values', spellcheck: 'false', autocomplete: 'off', placeholder: 'values, separated by commas'});
  values.value = chosen.value.join(', ');
  const reverse = el('input', {type: 'checkbox', id: 'reverse', onchange: () => submit()});
  reverse.checked = chosen.reverse;
  const deleted = schema.Fields.some(f => f.Rules.includes('deleted')) ? el('input', {type: 'checkbox', id: 'deleted', onchange: () => submit()}) : null;
  if (deleted) deleted.checked = chosen.deleted;
  const submit = () => {
    const byIndex = !where.value.trim() && index.value;
    go(to('records', {p, type, where: where.value.trim(), index: byIndex ? index.value : '', value: byIndex ? values.value.split(',').map(v => v.trim()).filter(Boolean) : [], reverse: reverse.checked, deleted: deleted?.checked ?? false, column: chosen.column, limit: limit === '50' ? '' : limit}), {focus: false});
  };
  return el('form', {class: 'toolbar', role: 'search', onsubmit: e => { e.preventDefault(); submit(); }},
    el('label', {class: 'field grow', for: 'where'}, 'Where', where),
    el('label', {class: 'field', for: 'index'}, 'In the order', index),
    columns(schema, chosen, submit),
    index.value && !chosen.where ? el('label', {class: 'field', for: 'values'}, 'Behind the values', values) : null,
    el('label', {class: 'check', for: 'reverse'}, reverse, 'backward'),
    deleted ? el('label', {class: 'check', for: 'deleted'}, deleted, 'deleted, too') : null,
    el('button', {type: 'submit', class: 'primary'}, 'Show'),
    el('p', {class: 'hint', id: 'where-help'}, 'Fields with =, !=, <, <=, >, >=, in (…); and, or, parentheses. Times as 2026-01-31T09:00:00Z, texts in quotes.'));
}

// example returns a condition on a field that an index begins with.
function example(schema) {
  const known = new Set(schema.Fields.map(f => f.Name));
  const field = schema.indexes.find(i => !i.kind && known.has(i.Fields[0]))?.Fields[0] ?? schema.Fields[1]?.Name ?? 'Field';
  const found = schema.Fields.find(f => f.Name === field);
  const kind = found?.Kind ?? '';
  const name = kind.includes('int') ? found?.Constants[0]?.Name : undefined;
  const sample = name ? flat(name) : kind.includes('string') || kind.includes('text') ? '"…"' : kind.includes('time') ? '2026-01-31T09:00:00Z' : kind.includes('bool') ? 'true' : '1';
  return `${flat(field)} = ${sample}`;
}

let choosing = false; // columns: each choice draws the view again

// columns lets the user choose the fields that are shown.
function columns(schema, chosen, submit) {
  const names = schema.Fields.slice(1).map(f => f.Name);
  const shown = new Set(chosen.column.length ? chosen.column : names);
  return el('details', {class: 'columns', open: choosing, ontoggle: e => { choosing = e.target.open; }}, el('summary', null, shown.size < names.length ? `${shown.size} of ${plural(names.length, 'column')}` : 'Columns'),
    el('div', null, names.map((n, i) => {
      const box = el('input', {type: 'checkbox', id: `column-${i}`, onchange: () => {
        shown[box.checked ? 'add' : 'delete'](n);
        chosen.column = shown.size && shown.size < names.length ? names.filter(name => shown.has(name)) : [];
        submit();
      }});
      box.checked = shown.has(n);
      return el('label', {class: 'check', for: `column-${i}`}, box, flat(n));
    })));
}

// exports lead to the files of the records that are shown.
function exports(params) {
  const file = format => el('a', {href: `api/records/export${search({...params, format})}`, download: true}, {csv: 'CSV', jsonl: 'JSON lines'}[format]);
  return el('p', {class: 'links exports'}, 'Save these records as ', file('csv'), ' or ', file('jsonl'));
}

// create lets the user write a new record. The library makes the ids of most types.
function create(editor, p, schema, go) {
  const fields = schema.Fields.slice(schema.MadeIDs ? 1 : 0).filter(f => !schema.Directory.includes(`{${f.Name}}`));
  const others = fields.filter(f => zero(f.Kind) === undefined).map(f => `${flat(f.Name)} (${flat(f.Kind)})`);
  openEditor(editor, {
    text: JSON.stringify(Object.fromEntries(fields.map(f => [f.Name, zero(f.Kind)])), null, 2),
    hint: `${schema.MadeIDs ? 'The library makes the id. ' : ''}Fields that you leave out have their zero value or their default.${others.length ? ` There are also ${others.join(', ')}.` : ''}`,
    save: async record => {
      const {id} = await post('record/create', {path: p, type: schema.Type, record});
      toast('The record was created.');
      go(to('record', {p, type: schema.Type, id}));
    },
  });
}

// zero returns the zero value of a kind that has one in JSON; undefined for others, such as times.
function zero(kind) {
  if (kind.startsWith('[]')) return [];
  if (kind.startsWith('map[')) return {};
  if (kind === 'string' || kind === 'bytes') return '';
  if (kind === 'bool') return false;
  return /^(u?int|float|double)/.test(kind) ? 0 : undefined;
}

// list shows rows. edit, if it is not null, lets the user change the record with an id.
function list(p, schema, rows, shown, edit) {
  const idField = schema.Fields?.[0]?.Name;
  const names = rows[0].cells.map(c => c.name).filter(n => n !== idField && (!shown.length || shown.includes(n)));
  const numbers = new Set(names.filter(n => rows.some(r => r.cells.find(c => c.name === n)?.kind === 'number')));
  const columns = [{name: flat(idField ?? 'id'), mono: true}, ...names.map(n => ({name: flat(n), number: numbers.has(n)}))];
  if (edit) columns.push({name: 'Change', plain: true});
  return table('Records', columns, rows.map(r => [
    r.deleted ? [link('record', {p, type: schema.Type, id: r.id}, foreign(r.id)), ' ', badge('deleted', 'bad')] : link('record', {p, type: schema.Type, id: r.id}, foreign(r.id)),
    ...names.map(n => {
      const cell = r.cells.find(c => c.name === n);
      return cell ? reference(cell, schema) : '';
    }),
    ...edit ? [button('Edit', () => edit(r.id), '', {'aria-label': `Edit ${flat(r.id)}`})] : []]), {class: 'scroll stack records'});
}

