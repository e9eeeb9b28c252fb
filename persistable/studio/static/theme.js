// SPDX-License-Identifier: Apache-2.0

import {el} from './dom.js';

const key = 'kazahana-theme';
const schemes = ['auto', 'light', 'dark'];

// chosen returns the scheme that the user chose; auto is that of the system.
function chosen() {
  try {
    const scheme = localStorage.getItem(key);
    return schemes.includes(scheme) ? scheme : 'auto';
  } catch {
    return 'auto';
  }
}

// applyTheme shows the page in the scheme that the user chose.
export function applyTheme() { document.documentElement.dataset.theme = chosen(); }

// themeSwitch chooses the scheme.
export function themeSwitch() {
  const choice = el('select', {id: 'theme', 'aria-label': 'Colours', onchange: () => {
    try {
      localStorage.setItem(key, choice.value);
    } catch {
      // The choice lasts as long as the page.
    }
    document.documentElement.dataset.theme = choice.value;
  }}, el('option', {value: 'auto'}, 'System colours'), el('option', {value: 'light'}, 'Light'), el('option', {value: 'dark'}, 'Dark'));
  choice.value = chosen();
  return choice;
}
