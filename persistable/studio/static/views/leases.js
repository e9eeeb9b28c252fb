// SPDX-License-Identifier: Apache-2.0

import {get, search} from '../api.js';
import {el, put, svg} from '../dom.js';
import {brief, count, flat, plural, span, time} from '../format.js';
import {badge, empty, fault, facts, foreign, heading, link, meter, notice, table, to} from '../parts.js';

export async function show({query, signal}) {
  let service = query.get('service') ?? '';
  const ended = query.get('ended') === '1';
  let found = await get('leases', {service, after: query.get('after') ?? '', ended}, signal);
  if (!service && found.services.length === 1) {
    service = found.services[0].name;
    found = await get('leases', {service, ended}, signal);
  }
  const {services, page, layout, now} = found;
  return {
    title: 'Leases and IDs',
    body: [
      heading('Leases and IDs'),
      decoder(query.get('id') ?? '', signal),
      el('section', null, el('h2', null, 'Services'),
        el('p', {class: 'lead'}, 'Programs make IDs under machine ids that they lease from the database, so that no two make the same.'),
        services.length ? table('Services', [{name: 'Service'}, {name: 'Leases', number: true}, {name: 'Positions', number: true}, {name: 'Of the space', wide: true}], services.map(s => [
          link('leases', {service: s.name}, foreign(s.name)), count(s.active) + (s.more ? '+' : ''), count(s.positions), el('span', {class: 'of'}, meter('Leased positions', s.positions / s.space), share(s.positions / s.space))]))
          : empty('No leases', 'No program has leased a machine id from this database. The first id that a program makes does.')),
      service ? el('section', null, el('h2', null, 'Leases of ', foreign(service)),
        el('p', {class: 'links'}, el('a', {href: to('leases', {service, ended: !ended})}, ended ? 'Only those in force' : 'Also those that have ended')),
        found.damage ? notice('bad', flat(found.damage)) : null,
        page.leases.length ? [strip(page.leases, services.find(s => s.name === service)), leases(page.leases, now)] : empty('None in force', 'All leases of this service have ended or were released.'),
        page.next ? el('nav', {class: 'pager', 'aria-label': 'Pages'}, link('leases', {service, ended, after: page.next}, 'Next page')) : null) : null,
      el('section', null, el('h2', null, 'Layout of the IDs'),
        facts(['Timestamp', `${layout.BitTs} bits, ${time(found.first)} to ${time(found.last)}`], ['Machine', `${layout.BitID} bits, the first marks fallback IDs`], ['Sequence', `${layout.BitSeq} bits`])),
    ],
  };
}

function share(f) { return f > 0 && f < 0.0001 ? 'less than 0.01 %' : `${(f * 100).toFixed(2)} %`; }

function leases(all, now) {
  return table('Leases', [{name: 'Machine', number: true}, {name: 'Block'}, {name: 'State'}, {name: 'From', wide: true}, {name: 'To', wide: true}, {name: 'Holder', wide: true}], all.map(l => {
    const left = Date.parse(l.expired) - Date.parse(now);
    return [String(l.id), `${plural(2 ** l.bitSeq, 'position')}`, l.lastTs ? badge('released') : l.active ? badge('in force', 'good') : badge('ended', 'warn'), time(l.created),
      [time(l.expired), el('span', {class: 'quiet'}, left > 0 ? ` in ${span(left)}` : ` ${span(left)} ago`)], Object.entries(l.meta ?? {}).map(([k, v]) => el('span', {class: 'pair'}, el('span', {class: 'quiet'}, flat(k), ' '), foreign(v)))];
  }));
}

// strip draws the blocks where they lie in the space of positions.
function strip(all, service) {
  const space = service?.space || 1;
  const blocks = all.map(l => ({x: l.id * 2 ** l.bitSeq / space * 1000, width: Math.max(2, 2 ** l.bitSeq / space * 1000), active: l.active && !l.lastTs}));
  return el('figure', {class: 'strip'}, svg('svg', {viewBox: '0 0 1000 20', preserveAspectRatio: 'none', role: 'img', 'aria-label': `${plural(all.length, 'block')} in a space of ${count(space)} positions`},
    svg('rect', {class: 'space', x: 0, y: 0, width: 1000, height: 20}), blocks.map(b => svg('rect', {class: b.active ? 'block' : 'block past', x: Math.min(b.x, 998), y: 0, width: b.width, height: 20}))),
  el('figcaption', {class: 'quiet'}, el('span', null, 'position 0'), el('span', null, brief(space))));
}

// decoder tells what an id means.
function decoder(id, signal) {
  const result = el('div', {'aria-live': 'polite', id: 'decoded'});
  const input = el('input', {type: 'search', id: 'decode', 'data-search': true, spellcheck: 'false', autocomplete: 'off', placeholder: '211469771380744768, an external ID, a ULID or a UUID'});
  input.value = id;
  const run = async () => {
    const text = input.value.trim();
    history.replaceState(null, '', `./leases${search({...Object.fromEntries(new URLSearchParams(location.search)), id: text})}`);
    if (!text) return put(result);
    try {
      put(result, decoded(await get('decode', {id: text}, signal)));
    } catch (error) {
      if (error.name !== 'AbortError') put(result, error.status === 400 ? notice('bad', flat(error.message)) : fault(error));
    }
  };
  if (id) run();
  return el('section', {class: 'decoder'}, el('h2', null, 'What an ID means'),
    el('form', {class: 'toolbar', onsubmit: e => { e.preventDefault(); run(); }}, el('label', {class: 'field grow', for: 'decode'}, 'ID', input), el('button', {type: 'submit', class: 'primary'}, 'Decode')), result);
}

function decoded(d) {
  return [facts(['Form', d.form], ['ID', el('code', null, d.id)], d.time ? ['Made', time(d.time), el('span', {class: 'quiet'}, ` ${d.time}`)] : null,
    d.machine !== undefined ? ['Machine', count(d.machine)] : null, d.sequence !== undefined ? ['Sequence', count(d.sequence)] : null,
    d.machine !== undefined ? ['Made under', d.fallback ? badge('no valid lease: a fallback ID', 'warn') : badge('a lease', 'good')] : null,
    d.external ? ['External', el('code', null, d.external)] : null, ['Hexadecimal', el('code', {class: 'hex'}, d.hex)], d.note ? ['Note', d.note] : null),
  d.bits ? bits(d.bits, d.layout) : null];
}

function bits(text, l) {
  const parts = [['reserve', l.BitReserve], ['time', l.BitTs], ['machine', l.BitID], ['sequence', l.BitSeq]];
  let at = 0;
  return el('p', {class: 'bits', role: 'img', 'aria-label': `Bits: ${parts.map(([n, w]) => `${w} ${n}`).join(', ')}`}, parts.map(([name, width]) => el('span', {class: `bit-${name}`}, el('span', {class: 'bit-text'}, text.slice(at, at += width)), el('span', {class: 'bit-name'}, `${name} ${width}`))));
}

