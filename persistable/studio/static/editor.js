// SPDX-License-Identifier: Apache-2.0

import {get, post} from './api.js';
import {el, put} from './dom.js';
import {printable} from './format.js';
import {button, foreign, notice, toast} from './parts.js';

// isOpen reports whether a box has an editor, and says what to do with that first.
function isOpen(box) {
  const open = Boolean(box.querySelector('textarea'));
  if (open) toast('Save the record in the editor, or cancel, before you open another one.', 'bad');
  return open;
}

// openEditor shows a record's JSON in a box, and lets the user change it, unless the box has an editor already. Save stores the text. If
// it fails, explain may return what to show instead of the error.
export function openEditor(box, {text, of, hint, save, explain}) {
  if (isOpen(box)) return;
  const before = document.activeElement;
  const area = el('textarea', {id: 'json', rows: String(Math.min(30, text.split('\n').length + 1)), spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', wrap: 'off'});
  area.value = printable(text);
  const state = el('div');
  const saving = button('Save', async () => {
    saving.disabled = true;
    try {
      await save(area.value);
    } catch (error) {
      saving.disabled = false;
      put(state, explain?.(error) ?? notice('bad', el('p', {class: 'notice-title'}, error.unknown ? 'It is not known whether it was saved' : 'Nothing was saved'), el('p', {class: 'pre'}, printable(error.message))));
    }
  }, 'primary', {id: 'save'});
  put(box, el('section', {class: 'editor'}, el('label', {class: 'field', for: 'json'}, of ? ['The record ', foreign(of), ' as JSON'] : 'The record as JSON', area), state,
    el('p', {class: 'hint'}, `${hint} Hooks of the type’s Go code do not run.`),
    el('div', {class: 'actions'}, button('Cancel', () => { put(box); before?.focus?.(); }), saving)));
  area.focus();
  area.setSelectionRange(0, 0);
}

// editRecord lets the user change a record's JSON, as it was shown if that has an etag, or as it is now.
export async function editRecord(box, {p, type, id, etag}, again) {
  if (isOpen(box)) return;
  let found;
  try {
    found = await get('record', {p, type, id, full: '1'});
  } catch (error) {
    toast(error.message, 'bad');
    return;
  }
  openEditor(box, {
    text: found.text, of: id,
    hint: 'All indexes are maintained. It is saved only if the record is still as it was shown.',
    save: async record => {
      await post('record/save', {path: p, type, id, etag: etag ?? found.etag, record});
      toast('The record was saved.');
      again();
    },
    explain: error => error.status === 412
      ? notice('bad', el('p', {class: 'notice-title'}, 'The record has changed in the database'), el('p', null, 'Nothing was saved. Your text is still here: copy what you need, then load the record as it is now.'), button('Load it as it is now', again))
      : null,
  });
}
