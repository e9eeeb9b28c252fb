// SPDX-License-Identifier: Apache-2.0

import {get, search} from './api.js';
import {el, put} from './dom.js';
import {flat, path as pathText, plural, printable} from './format.js';

// link leads to a view.
export function link(view, params, ...children) {
  return el('a', {href: to(view, params)}, ...children);
}

// to returns the address of a view.
export function to(view, params) { return `./${view}${search(params)}`; }

// foreign shows text from the database apart from the text around it, whatever its direction.
export function foreign(text, props) { return el('bdi', {class: 'foreign', ...props}, flat(text)); }

// heading is the top of a view.
export function heading(title, ...aside) {
  return el('div', {class: 'heading'}, el('h1', {tabindex: '-1'}, title), aside.length ? el('div', {class: 'aside'}, aside) : null);
}

// crumbs lead to the directories above.
export function crumbs(path, last) {
  const parts = [link('directories', {}, 'root')];
  path.forEach((name, i) => parts.push(el('span', {class: 'slash', 'aria-hidden': 'true'}, '/'), link('directories', {p: path.slice(0, i + 1)}, foreign(name))));
  if (last) parts.push(el('span', {class: 'slash', 'aria-hidden': 'true'}, '·'), el('span', null, foreign(last)));
  return el('nav', {class: 'crumbs', 'aria-label': 'Path'}, parts);
}

// tabs are the views of a store.
export function tabs(current, p, type) {
  const all = [['records', 'Records'], ['indexes', 'Indexes'], ['schema', 'Schema'], ['changes', 'Changes']];
  return el('nav', {class: 'tabs', 'aria-label': 'Store'}, all.map(([view, name]) =>
    el('a', {href: to(view, {p, type}), 'aria-current': view === current ? 'page' : null}, name)));
}

// storeTop is the top of each view of a store.
export function storeTop(current, p, type, ...aside) {
  return [crumbs(p), heading(foreign(type), ...aside), tabs(current, p, type)];
}

// badge is a word with a colour.
export function badge(text, kind = 'plain') { return el('span', {class: `badge ${kind}`}, text); }

// stateBadge shows the state of an index.
export function stateBadge(state) {
  return badge(state, {readable: 'good', building: 'warn', disabled: 'bad'}[state]);
}

// notice is a paragraph in a box.
export function notice(kind, ...children) {
  return el('div', {class: `notice ${kind}`, role: kind === 'bad' ? 'alert' : null}, children);
}

// unseen says that a view has looked at the first stores only, and how to see the others.
export function unseen(n) {
  return notice('plain', `Only the first ${plural(n, 'store')} were looked at. There are more, which are neither shown nor counted here: choose a directory under `,
    link('directories', {}, 'Directories'), ' to see those in it. The command kazahana type list lists all', ended, '.');
}

// ended says when a command can open the database.
export const ended = ' (if the database is embedded, once the program that serves this page has ended)';

// empty explains why there is nothing.
export function empty(title, ...why) {
  return el('div', {class: 'empty'}, el('p', {class: 'empty-title'}, title), el('p', null, why));
}

// table makes a table that scrolls by itself. In a narrow window the cells of a row are below each
// other, each after the name of its column; the first one heads them, unless it is a number.
// Columns: {name, number, wide, mono, plain: cells do without the name}; rows: lists of cells.
export function table(label, columns, rows, props) {
  const head = el('tr', null, columns.map(c => el('th', {scope: 'col', class: c.number ? 'number' : null}, c.name)));
  const body = rows.map(cells => el('tr', {'data-row': true}, cells.map((cell, i) =>
    el('td', {'data-name': (i > 0 || columns[i]?.number) && !columns[i]?.plain && columns[i]?.name || null, class: [columns[i]?.number && 'number', columns[i]?.wide && 'wide', columns[i]?.mono && 'mono'].filter(Boolean).join(' ') || null}, cell))));
  return el('div', {class: 'scroll stack', role: 'region', 'aria-label': label, tabindex: '0', ...props}, el('table', null, el('thead', null, head), el('tbody', null, body)));
}

// facts is a list of names and values.
export function facts(...pairs) {
  return el('dl', {class: 'facts'}, pairs.filter(Boolean).map(([name, ...value]) => el('div', null, el('dt', null, name), el('dd', null, value))));
}

// button does something.
export function button(text, onclick, kind = '', props) {
  return el('button', {type: 'button', class: kind || null, onclick, ...props}, text);
}

// meter shows a share from 0 to 1.
export function meter(label, share) {
  const bar = el('span', {class: 'fill'});
  bar.style.inlineSize = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return el('span', {class: 'meter', role: 'progressbar', 'aria-label': label, 'aria-valuemin': '0', 'aria-valuemax': '100', 'aria-valuenow': String(Math.round((share || 0) * 100))}, bar);
}

// value shows a value of a record, cut or whole.
export function value(cell) {
  const text = cell.kind === 'string' ? flat(cell.text) : printable(cell.text);
  return el('bdi', {class: `value ${cell.kind}`}, cell.kind === 'string' && cell.text === '' ? el('span', {class: 'quiet'}, '“”') : text, cell.bytes ? el('span', {class: 'quiet'}, '…') : null);
}

// reference shows the value of a field, as a link if the field refers to a record.
export function reference(cell, schema) {
  const to = referred(cell, schema);
  const isID = !cell.bytes && (cell.kind === 'number' || cell.kind === 'string') && !/^[0-]*$/.test(cell.text);
  return to && isID ? link('record', {p: to.path, type: to.type, id: cell.text}, value(cell)) : value(cell);
}

// referred says where the records are to which a field refers; undefined if it refers to none.
export function referred(cell, schema) {
  return Object.hasOwn(schema.refers, cell.name) ? schema.refers[cell.name] : undefined;
}

// fault shows an error where the contents would be. After an outage of the database it tries again by itself.
export function fault(error, retry) {
  const box = el('div', {class: 'notice bad', role: 'alert'},
    el('p', {class: 'notice-title'}, faultTitle(error)),
    el('p', {class: 'pre'}, printable(error.message)),
    error.outage && retry ? el('p', {class: 'quiet'}, 'This page goes on by itself when the database answers.') : null,
    retry ? button('Try again', retry) : null);
  if (error.outage && retry) retryAfterOutage(box, retry);
  return box;
}

function faultTitle(error) {
  if (error.outage) return 'The database does not answer';
  return error.status === 404 ? 'There is no such thing' : 'This did not work';
}

const askEvery = 2000;

// retryAfterOutage tries again when the database answers, unless the box has left the page by then.
async function retryAfterOutage(box, retry) {
  for (;;) {
    await new Promise(resolve => { setTimeout(resolve, askEvery); });
    if (!box.isConnected) return;
    const {outage} = await get('state').catch(error => error);
    if (!box.isConnected) return;
    if (!outage) return retry();
  }
}

// toast tells in passing that something was done.
export function toast(text, kind = 'good') {
  const box = el('div', {class: `toast ${kind}`}, printable(text));
  document.getElementById('toasts').append(box);
  setTimeout(() => box.remove(), 6000);
}

// ask shows a dialog and returns what the user chose: true, the text of its input, or null.
export function ask({title, body, action, danger, input, confirm}) {
  return new Promise(resolve => {
    const field = input || confirm ? el('input', {type: 'text', id: 'ask-input', autocomplete: 'off', spellcheck: 'false', 'aria-label': input ?? `Type ${confirm} to confirm`}) : null;
    const go = el('button', {type: 'submit', class: danger ? 'danger' : 'primary', disabled: Boolean(field)}, action);
    const form = el('form', {method: 'dialog', onsubmit: e => {
      e.preventDefault();
      if (!go.disabled) close(field ? field.value : true);
    }},
      el('h2', {id: 'ask-title'}, title), el('div', {class: 'dialog-body'}, body),
      field ? el('label', {class: 'field', for: 'ask-input'}, el('span', {class: 'label'}, input ?? ['Type ', el('code', null, flat(confirm)), ' to confirm']), field) : null,
      el('div', {class: 'actions'}, button('Cancel', () => close(null), 'cancel'), go));
    const dialog = el('dialog', {'aria-labelledby': 'ask-title', oncancel: e => { e.preventDefault(); close(null); }}, form);
    const before = document.activeElement;
    field?.addEventListener('input', () => { go.disabled = confirm ? field.value !== confirm : !field.value.trim(); });
    function close(result) {
      dialog.close();
      dialog.remove();
      before?.focus?.();
      resolve(result);
    }
    document.body.append(dialog);
    dialog.showModal();
    (field ?? form.querySelector('.cancel')).focus();
  });
}

// replace shows other contents in a node, or the error of the function that makes them.
export async function replace(node, make, retry) {
  try {
    put(node, await make());
  } catch (error) {
    if (error.name !== 'AbortError') put(node, fault(error, retry));
  }
}

export {pathText};
