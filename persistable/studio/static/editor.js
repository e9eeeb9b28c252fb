// SPDX-License-Identifier: Apache-2.0

import {el, put} from './dom.js';
import {printable} from './format.js';
import {button, notice} from './parts.js';

// openEditor shows a record's JSON in a box, and lets the user change it. Save stores the text. If it fails, explain may return what to
// show instead of the error.
export function openEditor(box, {text, hint, save, explain}) {
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
  put(box, el('section', {class: 'editor'}, el('label', {class: 'field', for: 'json'}, 'The record as JSON', area), state,
    el('p', {class: 'hint'}, `${hint} Hooks of the type’s Go code do not run.`),
    el('div', {class: 'actions'}, button('Cancel', () => put(box)), saving)));
  area.focus();
  area.setSelectionRange(0, 0);
}
