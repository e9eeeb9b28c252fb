// SPDX-License-Identifier: Apache-2.0

import {get, post} from '../api.js';
import {el, put} from '../dom.js';
import {editRecord} from '../editor.js';
import {bytes, count, flat, printable} from '../format.js';
import {ask, badge, button, crumbs, empty, facts, foreign, heading, notice, reference, referred, table, tabs, to, toast} from '../parts.js';

export async function show({p, type, query, signal, info, go, again}) {
  const id = query.get('id') ?? '';
  const found = await get('record', {p, type, id}, signal);
  const {row, schema} = found;
  const writable = info.write && !schema.refusal;
  const editor = el('div');
  const keeps = schema.Fields.find(f => f.Rules.includes('deleted'));
  const place = {p, type: schema.Type, id, etag: found.etag, stays: keeps && !row.deleted};
  const kinds = Object.fromEntries(schema.Fields.map(f => [f.Name, [f.Kind, ...f.Rules].join(' ')]));
  return {
    title: `${schema.Type} ${row.id}`,
    body: [
      crumbs(p),
      heading([foreign(schema.Type), ' ', el('span', {class: 'mono'}, foreign(row.id))], writable ? [
        button('Edit', () => editRecord(editor, place, again), '', {id: 'edit'}),
        button(row.deleted ? 'Delete for good…' : 'Delete…', () => remove(place, found, go), 'danger', {id: 'delete'})] : null),
      tabs('', p, schema.Type),
      row.deleted ? notice('warn', 'This record is deleted. To restore it, edit it: leave out ', el('code', null, flat(keeps.Name)), '.') : null,
      facts(['Size as JSON', bytes(found.bytes)], ['Entries', count(found.entries.length)], row.version ? ['Version', el('code', null, row.version)] : null),
      editor,
      el('section', null, el('h2', null, 'Fields'), table('Fields', [{name: 'Field'}, {name: 'Value', wide: true, plain: true}], row.cells.map(c => [[foreign(c.name), el('div', {class: 'kind'}, flat(kinds[c.name] ?? ''))], whole(c, place, kinds[c.name] ?? '', schema)]))),
      el('section', null, el('h2', null, 'Keys'),
        el('p', {class: 'lead'}, 'What the database has because of this record: its own keys, and those in each index; of groups (counts, sums) the values are of all their records.'),
        found.entries.length ? table('Keys', [{name: 'Of'}, {name: 'Key after the directory’s prefix', wide: true, plain: true}, {name: 'Value', number: true}], found.entries.map(entry)) : empty('No keys', '')),
    ],
  };
}

// longText is how long a text is, in characters, that is not wrapped: to wrap a megabyte takes
// browsers seconds.
const longText = 50_000;

// innerJSON returns the JSON object or list that a text, or bytes, have; '' if they have something else.
function innerJSON(cell, kind) {
  if (cell.kind !== 'string') return '';
  try {
    const text = kind.endsWith('bytes') ? new TextDecoder('utf-8', {fatal: true}).decode(Uint8Array.from(atob(cell.text), c => c.charCodeAt(0))) : cell.text;
    return /^\s*[{[]/.test(text) && JSON.parse(text) ? text : '';
  } catch {
    return '';
  }
}

// whole shows a value, with links to the records to which it refers. If it is cut, a button gets all of it.
function whole(cell, place, kind, schema) {
  const elements = cell.kind === 'list' && !cell.bytes && referred(cell, schema) ? ids(cell) : [];
  if (elements.length) return el('div', {class: 'links'}, elements.map(c => [reference(c, schema), ' ']));
  const inner = cell.bytes ? '' : innerJSON(cell, kind);
  const shown = inner ? el('pre', {class: 'value', tabindex: '0', 'data-inner': true}, printable(indent(inner)))
    : cell.kind === 'object' || cell.kind === 'list' ? el('pre', {class: 'value', tabindex: '0'}, cell.bytes ? printable(cell.text) + '…' : printable(indent(cell.text))) : reference(cell, schema);
  const box = el('div', {class: 'whole'}, shown, inner ? el('span', {class: 'quiet'}, 'JSON in ', flat(kind)) : null);
  if (!cell.bytes) return box;
  const more = button(`Show all ${bytes(cell.bytes)}`, async () => {
    more.disabled = true;
    try {
      const {text} = await get('record', {p: place.p, type: place.type, id: place.id, full: '1'});
      const shown = printable(member(text, cell.name));
      put(box, el('pre', {class: shown.length > longText ? 'value long' : 'value', tabindex: '0'}, shown));
    } catch (error) {
      toast(error.message, 'bad');
      more.disabled = false;
    }
  });
  box.append(' ', more);
  return box;
}

// ids returns the elements of a list of ids as cells. Its numbers may have more digits than one of JavaScript.
function ids({name, text}) {
  return (text.match(/"(?:[^"\\]|\\.)*"|[^\s"[\],]+/g) ?? []).map(t => t.startsWith('"') ? {name, kind: 'string', text: JSON.parse(t)} : {name, kind: /^-?\d/.test(t) ? 'number' : 'null', text: t});
}

// indent lays JSON out without reading its numbers, which may have more digits than a number of
// JavaScript.
function indent(text) {
  let level = 0;
  const line = () => '\n' + '  '.repeat(level);
  return text.replace(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g, (part, at) => {
    if (part === '{' || part === '[') {
      const closes = /^\s*[}\]]/.test(text.slice(at + 1, at + 20));
      level++;
      return closes ? part : part + line();
    }
    if (part === '}' || part === ']') {
      level--;
      return /[{[]\s*$/.test(text.slice(Math.max(0, at - 20), at)) ? part : line() + part;
    }
    return part === ',' ? part + line() : part === ':' ? ': ' : part;
  });
}

// member returns a member of a record's indented JSON: a string as itself, other values as JSON.
function member(text, name) {
  const whole = JSON.parse(text)[name];
  if (typeof whole === 'string') return whole;
  const begin = text.indexOf(`\n  ${JSON.stringify(name)}: `);
  const rest = text.slice(begin + JSON.stringify(name).length + 5);
  const end = rest.search(/\n {2}"|\n}$/);
  return begin < 0 ? JSON.stringify(whole, null, 2) : rest.slice(0, end).replace(/,$/, '').replace(/\n {2}/g, '\n');
}

function entry(e) {
  return [e.index ? badge(flat(e.index)) : badge('record', 'good'),
    el('details', null, el('summary', null, el('code', null, printable(e.tuple))), el('p', {class: 'hex'}, el('span', {class: 'quiet'}, 'key '), e.key), e.value ? el('p', {class: 'hex'}, el('span', {class: 'quiet'}, 'value '), e.value, e.valueBytes * 2 > e.value.length ? '…' : '') : null),
    e.missing ? badge('missing', 'bad') : e.valueBytes ? bytes(e.valueBytes) : el('span', {class: 'quiet'}, 'empty')];
}

async function remove(place, found, go) {
  const indexes = [...new Set(found.entries.map(e => e.index).filter(Boolean))];
  const yes = await ask({
    title: ['Delete this ', foreign(place.type), '?'], action: 'Delete the record', danger: true,
    body: place.stays ? [el('p', null, 'The record ', el('code', null, flat(place.id)), ' stays, with the time of its deletion. Programs and lists leave it out, and it can be restored.')] : [el('p', null, 'This removes the record ', el('code', null, flat(place.id)), ` (${bytes(found.bytes)} as JSON) with `, `${count(found.entries.length)} keys`, indexes.length ? `, its entries in ${indexes.map(flat).join(', ')} among them.` : '.'), el('p', null, 'It cannot be undone.')],
  });
  if (!yes) return;
  try {
    await post('record/delete', {path: place.p, type: place.type, id: place.id, etag: place.etag});
    toast('The record was deleted.');
    go(to('records', {p: place.p, type: place.type}));
  } catch (error) {
    toast(error.status === 412 ? 'Nothing was deleted: the record has changed since it was shown.' : error.message, 'bad');
  }
}

