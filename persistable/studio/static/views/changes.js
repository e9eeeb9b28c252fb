// SPDX-License-Identifier: Apache-2.0

import {Failure, get, search} from '../api.js';
import {el, put} from '../dom.js';
import {count, flat} from '../format.js';
import {badge, button, empty, fault, foreign, link, storeTop, value} from '../parts.js';

const kept = 200;

export async function show({p, type, query, signal}) {
  const schema = await get('schema', {p, type}, signal);
  if (!schema.Versions) {
    return {title: `${schema.Type} changes`, body: [storeTop('changes', p, schema.Type), empty('No change feed', 'The records of this type have no versions. Give the Go type the marker persistable.Version, or a field of that type, and its changes can be followed.')]};
  }
  const plain = new Set(schema.Fields.filter((f, i) => i === 0 || f.Argument).map(f => f.Name));
  const state = el('span', {class: 'badge plain', id: 'feed-state', role: 'status'}, 'connecting');
  const total = el('span', {class: 'quiet'});
  const body = el('tbody');
  const waiting = empty('No changes yet', 'A change appears here as soon as a program commits it. Each record stands here once for its last change.');
  const box = el('div', null, waiting);
  const rows = el('div', {class: 'scroll stack', role: 'region', 'aria-label': 'Changes', tabindex: '0'}, el('table', null, el('thead', null, el('tr', null, ['Record', '', 'Now', 'Version'].map(n => el('th', {scope: 'col'}, n)))), body));
  let seen = 0, paused = false, held = [], late = 0, last = query.get('since'), source = null;
  const set = (text, kind) => { state.textContent = text; state.className = `badge ${kind}`; };
  const add = change => {
    if (paused) {
      held.push(change);
      if (held.length > kept) held.shift();
      set(`paused, ${count(++late)} more`, 'warn');
      return;
    }
    if (!seen++) put(box, rows);
    total.textContent = `${count(seen)} seen`;
    body.prepend(row(change, p, schema.Type, plain));
    while (body.childElementCount > kept) body.lastElementChild.remove();
  };
  const pause = button('Pause', () => {
    paused = !paused;
    pause.textContent = paused ? 'Go on' : 'Pause';
    pause.setAttribute('aria-pressed', String(paused));
    if (paused) return set('paused', 'warn');
    if (source.readyState === EventSource.CLOSED) set('ended', 'bad');
    else set('live', 'good');
    const shown = held;
    if (late > shown.length) seen += late - shown.length;
    [held, late] = [[], 0];
    if (shown.length) waiting.replaceWith(rows);
    shown.forEach(add);
  }, '', {'aria-pressed': 'false', id: 'pause'});
  const end = failure => {
    source.close();
    set('ended', 'bad');
    box.prepend(fault(failure, () => { put(box, seen ? rows : waiting); connect(); }));
  };
  // refuse ends after a refusal, of which the browser tells no reason.
  const refuse = async () => {
    const reason = await get('schema', {p, type}, signal).then(() => new Failure('The server refuses the stream.'), error => error);
    if (reason.name !== 'AbortError') end(reason);
  };
  const connect = () => {
    source = new EventSource(`api/changes${search({p, type: schema.Type, since: last})}`);
    source.addEventListener('change', e => {
      if (!paused) set('live', 'good');
      const change = JSON.parse(e.data);
      last = change.version;
      add(change);
    });
    source.addEventListener('idle', () => { if (!paused) set('live', 'good'); });
    source.addEventListener('failed', e => {
      const reason = JSON.parse(e.data);
      end(new Failure(reason.error, 0, reason));
    });
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) refuse();
      else set('connecting again', 'warn');
    });
  };
  signal.addEventListener('abort', () => source?.close());
  return {
    title: `${schema.Type} changes`,
    body: [storeTop('changes', p, schema.Type, total, state), el('div', {class: 'toolbar'}, pause, button('Clear', () => { body.replaceChildren(); }), el('p', {class: 'hint'}, 'The newest is on top. The page keeps the last 200.')), box],
    ready: connect,
  };
}

function row(c, p, type, plain) {
  const shown = (c.cells ?? []).filter(cell => !plain.has(cell.name) && cell.kind !== 'null').slice(0, 6);
  return el('tr', {'data-row': true, class: 'fresh'},
    el('td', {class: 'mono'}, c.deleted ? foreign(c.id) : link('record', {p, type, id: c.id}, foreign(c.id))),
    el('td', null, c.deleted ? badge('deleted', 'bad') : badge('saved', 'good')),
    el('td', {class: 'wide'}, shown.map(cell => el('span', {class: 'pair'}, el('span', {class: 'quiet'}, flat(cell.name), ' '), value(cell)))),
    el('td', {class: 'mono quiet', 'data-name': 'Version'}, c.version));
}
