// SPDX-License-Identifier: Apache-2.0

import {get} from './api.js';
import {el, put} from './dom.js';
import {flat} from './format.js';
import {healthSection} from './health.js';
import {bindKeys, openHelp, openPalette} from './keys.js';
import {badge, fault, heading, to} from './parts.js';
import {applyTheme, themeSwitch} from './theme.js';
import * as changes from './views/changes.js';
import * as directories from './views/directories.js';
import * as indexes from './views/indexes.js';
import * as leases from './views/leases.js';
import * as metrics from './views/metrics.js';
import * as overview from './views/overview.js';
import * as record from './views/record.js';
import * as records from './views/records.js';
import * as schema from './views/schema.js';
import * as sizes from './views/sizes.js';
import * as tenants from './views/tenants.js';
import * as types from './views/types.js';

const views = {'': overview, directories, tenants, types, records, record, indexes, schema, changes, leases, sizes, metrics};

// The views of the navigation, with the letter that follows g.
const navigation = [['', 'Overview', 'o'], ['directories', 'Directories', 'd'], ['tenants', 'Tenants', 't'], ['types', 'Types', 'y'], ['sizes', 'Sizes', 's'], ['leases', 'Leases and IDs', 'l'], ['metrics', 'Metrics', 'm']];

// The entries of the navigation for views of a store.
const parents = {records: 'types', record: 'types', indexes: 'types', schema: 'types', changes: 'types'};

let leave = new AbortController();
let info = null;

function currentView() { return location.pathname.slice(location.pathname.lastIndexOf('/') + 1); }

// show shows the view of the address.
async function show({focus = true} = {}) {
  leave.abort();
  leave = new AbortController();
  const {signal} = leave;
  const main = document.getElementById('main');
  const name = currentView();
  const query = new URLSearchParams(location.search);
  main.setAttribute('aria-busy', 'true');
  markCurrent(name);
  try {
    info ??= await get('info', {}, signal);
    drawSide(name);
    const view = views[name] ?? overview;
    const shown = await view.show({query, p: query.getAll('p'), type: query.get('type') ?? '', signal, info, go, again: () => { if (!signal.aborted) show({focus: false}); }});
    if (signal.aborted) return;
    put(main, shown.body);
    document.title = `${shown.title} · Kazahana`;
    shown.ready?.();
  } catch (error) {
    if (error.name === 'AbortError' || signal.aborted) return;
    document.title = 'Error · Kazahana';
    put(main, heading('Nothing to show'), fault(error, () => show()));
    if (error.outage && info.engine === 'cluster') showHealth(main, signal);
  }
  main.removeAttribute('aria-busy');
  if (focus) (main.querySelector('[data-focus]') ?? main.querySelector('h1'))?.focus({preventScroll: true});
}

// showHealth adds what the client of a cluster knows of an outage.
async function showHealth(main, signal) {
  const health = await get('health', {}, signal).catch(() => null); // the page may have gone
  if (health && !signal.aborted) main.append(healthSection(health));
}

// go leads to another address. With replace it takes the place of this one in the history.
function go(address, {replace = false, focus = true} = {}) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  if (!replace) scrollTo(0, 0);
  show({focus});
}

function drawSide(name) {
  const side = document.getElementById('side');
  if (side.childElementCount) return;
  put(side,
    el('div', {class: 'brand'}, el('a', {href: './', class: 'name'}, 'Kazahana'),
      el('span', {class: 'where', title: info.database}, flat(info.database || 'database')),
      info.write ? badge('writes allowed', 'warn') : badge('read-only')),
    el('nav', {class: 'menu', 'aria-label': 'Views'}, navigation.map(([view, text, key]) =>
      el('a', {href: to(view), 'data-view': view, 'aria-keyshortcuts': `g ${key}`}, text, el('kbd', {'aria-hidden': 'true'}, `g ${key}`)))),
    el('div', {class: 'tools'},
      el('button', {type: 'button', class: 'plain', onclick: () => openPalette(paletteItems)}, 'Go to…', el('kbd', {'aria-hidden': 'true'}, 'Ctrl K')),
      el('button', {type: 'button', class: 'plain', onclick: openHelp}, 'Keys', el('kbd', {'aria-hidden': 'true'}, '?')),
      themeSwitch()));
  markCurrent(name);
}

function markCurrent(name) {
  const current = parents[name] ?? name;
  for (const a of document.querySelectorAll('.menu a')) {
    if (a.dataset.view === current) {
      a.setAttribute('aria-current', 'page');
      const menu = a.closest('.menu');
      menu.scrollLeft = a.offsetLeft - menu.offsetLeft - 40;
    } else a.removeAttribute('aria-current');
  }
}

// paletteItems returns what the palette leads to: views and stores.
async function paletteItems() {
  const items = navigation.map(([view, text]) => ({text, about: 'view', address: to(view)}));
  const {stores, more} = await get('types', {}).catch(() => ({stores: []})); // the views are there in an outage, too
  for (const s of stores) items.push({text: s.type, about: s.path.join('/'), address: to('records', {p: s.path, type: s.type})});
  if (more) items.push({text: 'Other stores', about: `only the first ${stores.length} are listed here: see Directories`, address: to('directories'), always: true});
  return items;
}

// Links to views change the address without loading the page again.
document.addEventListener('click', event => {
  const a = event.target.closest?.('a[href]');
  if (!a || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (a.getAttribute('href').startsWith('#')) {
    event.preventDefault();
    document.querySelector(a.getAttribute('href'))?.focus();
    return;
  }
  if (a.origin !== location.origin || a.target || a.hasAttribute('download')) return;
  event.preventDefault();
  go(a.href);
});
addEventListener('popstate', () => show());

applyTheme();
bindKeys({go, navigation, paletteItems});
show({focus: false});

