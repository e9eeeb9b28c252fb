// SPDX-License-Identifier: Apache-2.0

import {get} from '../api.js';
import {el} from '../dom.js';
import {flat, plural} from '../format.js';
import {button, empty, fault, foreign, link, notice, storeTop, table, to, value} from '../parts.js';

export async function show({p, type, query, signal, go}) {
  const chosen = {where: query.get('where') ?? '', index: query.get('index') ?? '', value: query.getAll('value'), reverse: query.get('reverse') === '1', token: query.get('token') ?? ''};
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
  return {
    title: `${schema.Type} records`,
    body: [
      storeTop('records', p, schema.Type, found ? el('span', {class: 'quiet'}, `${plural(found.rows.length, 'record')}${chosen.token ? ' on this page' : ''}${found.next ? ', and more' : ''}`) : null),
      schema.refusal ? notice('warn', 'Records here can be read, not written: ', foreign(schema.refusal)) : null,
      form,
      failed ? fault(failed) : found.rows.length ? list(p, schema, found.rows) : none(chosen),
      found ? el('nav', {class: 'pager', 'aria-label': 'Pages'},
        chosen.token ? el('a', {href: to('records', {p, type: schema.Type, ...chosen, token: '', limit})}, 'First page') : null,
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
  const usable = schema.indexes.filter(i => !i.kind && i.state === 'readable');
  const where = el('input', {type: 'search', id: 'where', 'data-search': true, spellcheck: 'false', autocomplete: 'off', placeholder: example(schema), 'aria-describedby': 'where-help'});
  where.value = chosen.where;
  const index = el('select', {id: 'index', onchange: () => submit()}, el('option', {value: ''}, 'of the ids'), usable.map(i => el('option', {value: i.KeyName}, flat(i.KeyName))));
  index.value = usable.some(i => i.KeyName === chosen.index) ? chosen.index : '';
  const values = el('input', {type: 'text', id: 'values', spellcheck: 'false', autocomplete: 'off', placeholder: 'values, separated by commas'});
  values.value = chosen.value.join(', ');
  const reverse = el('input', {type: 'checkbox', id: 'reverse', onchange: () => submit()});
  reverse.checked = chosen.reverse;
  const submit = () => {
    const byIndex = !where.value.trim() && index.value;
    go(to('records', {p, type, where: where.value.trim(), index: byIndex ? index.value : '', value: byIndex ? values.value.split(',').map(v => v.trim()).filter(Boolean) : [], reverse: reverse.checked, limit: limit === '50' ? '' : limit}), {focus: false});
  };
  return el('form', {class: 'toolbar', role: 'search', onsubmit: e => { e.preventDefault(); submit(); }},
    el('label', {class: 'field grow', for: 'where'}, 'Where', where),
    el('label', {class: 'field', for: 'index'}, 'In the order', index),
    index.value && !chosen.where ? el('label', {class: 'field', for: 'values'}, 'Behind the values', values) : null,
    el('label', {class: 'check', for: 'reverse'}, reverse, 'backward'),
    el('button', {type: 'submit', class: 'primary'}, 'Show'),
    el('p', {class: 'hint', id: 'where-help'}, 'Fields with =, !=, <, <=, >, >=, in (…); and, or, parentheses. Times as 2026-01-31T09:00:00Z, texts in quotes.'));
}

// example returns a condition on a field that an index begins with.
function example(schema) {
  const known = new Set(schema.Fields.map(f => f.Name));
  const field = schema.indexes.find(i => !i.kind && known.has(i.Fields[0]))?.Fields[0] ?? schema.Fields[1]?.Name ?? 'Field';
  const kind = schema.Fields.find(f => f.Name === field)?.Kind ?? '';
  const sample = kind.includes('string') || kind.includes('text') ? '"…"' : kind.includes('time') ? '2026-01-31T09:00:00Z' : kind.includes('bool') ? 'true' : '1';
  return `${flat(field)} = ${sample}`;
}

function list(p, schema, rows) {
  const idField = schema.Fields?.[0]?.Name;
  const names = rows[0].cells.map(c => c.name).filter(n => n !== idField);
  const numbers = new Set(names.filter(n => rows.some(r => r.cells.find(c => c.name === n)?.kind === 'number')));
  const columns = [{name: flat(idField ?? 'id'), mono: true}, ...names.map(n => ({name: flat(n), number: numbers.has(n)}))];
  return table('Records', columns, rows.map(r => [
    link('record', {p, type: schema.Type, id: r.id}, foreign(r.id)),
    ...names.map(n => {
      const cell = r.cells.find(c => c.name === n);
      return cell ? value(cell) : '';
    })]), {class: 'scroll records'});
}

