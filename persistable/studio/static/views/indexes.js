// SPDX-License-Identifier: Apache-2.0

import {get, post} from '../api.js';
import {el, put} from '../dom.js';
import {count, flat, plural, printable, span, time} from '../format.js';
import {ask, badge, button, empty, fault, foreign, meter, notice, stateBadge, storeTop, table, toast} from '../parts.js';

const pollEvery = 700;

export async function show({p, type, signal, info}) {
  const live = el('div', {'aria-live': 'polite'});
  const list = el('div');
  let schema = (await get('schema', {p, type}, signal));
  const store = {path: p, type: schema.Type};
  const writable = info.write && !schema.refusal;
  let timer = 0;
  const here = `${store.type} in ${p.join('/')}`;
  const refresh = async () => {
    clearTimeout(timer);
    try {
      const {jobs} = await get('jobs', {}, signal); // first: what follows shows what ended jobs have done
      const state = await get('indexes', {p, type: schema.Type}, signal);
      schema = state.schema;
      put(list, indexTable(schema, store, writable, refresh));
      const mine = jobs.filter(j => j.about === here || j.about.endsWith(` of ${here}`)).reverse();
      put(live, progress(state.progress), mine.length ? el('section', null, el('h2', null, 'Work'), mine.map(j => work(j, refresh))) : null);
      if (mine.some(j => !j.ended) || state.progress.indexes.length) timer = setTimeout(refresh, pollEvery);
    } catch (error) {
      if (error.name !== 'AbortError') put(live, fault(error, refresh));
    }
  };
  signal.addEventListener('abort', () => clearTimeout(timer));
  await refresh();
  const start = (name, path, about) => async () => {
    if (about && !await ask(about)) return;
    try {
      await post(path, store);
      toast(`${name} has begun.`);
    } catch (error) {
      toast(error.message, 'bad');
    }
    refresh();
  };
  return {
    title: `${schema.Type} indexes`,
    body: [
      storeTop('indexes', p, schema.Type),
      schema.refusal ? notice('warn', 'Nothing can be written here: ', foreign(schema.refusal)) : null,
      el('div', {class: 'toolbar'},
        button('Verify', start('The verification', 'indexes/verify'), '', {id: 'verify'}),
        writable ? [button('Build', start('The build', 'indexes/build'), '', {id: 'build'}),
          button('Repair…', start('The repair', 'indexes/repair', {title: 'Repair the indexes?', body: el('p', null, 'All records and entries are read. Entries that are missing are written, entries that belong to no record are removed, counts and sums are corrected. Records are never changed. Verify first to see what is at fault.'), action: 'Repair', danger: true}), '', {id: 'repair'})] : null,
        el('p', {class: 'hint'}, writable ? 'Verify reads all records and entries and changes nothing.' : 'Verify reads all records and entries and changes nothing. Start the command with --write to build and repair.')),
      live, list,
    ],
  };
}

function indexTable(schema, store, writable, refresh) {
  if (!schema.indexes.length) return empty('No indexes', 'The header of this store has no index: records are found by id only.');
  const columns = [{name: 'Index'}, {name: 'State'}, {name: 'Kind'}, {name: 'Fields', wide: true}, {name: 'Options', wide: true}];
  if (writable) columns.push({name: ''});
  return table('Indexes', columns, schema.indexes.map(i => {
    const cells = [foreign(i.Name), stateBadge(i.state), i.kind || 'value', i.Fields.map(f => flat(f) + (i.Folded.includes(f) ? ' (folded)' : '') + (i.Descending.includes(f) ? ' ↓' : '')).join(', '), options(i)];
    if (writable) cells.push(button('Drop…', () => drop(i, store, refresh), 'danger'));
    return cells;
  }));
}

function options(i) {
  return [i.Unique ? badge('unique') : null, i.Cover ? badge('covering') : null, i.CoverFields.length ? badge('copies ' + i.CoverFields.map(flat).join(', ')) : null,
    i.Of ? badge('of ' + flat(i.Of)) : null, i.Where ? badge('where ' + flat(i.Where)) : null, i.Scatter ? badge(`${i.Scatter} shards`) : null,
    i.Foreign ? el('span', {class: 'quiet'}, flat(i.Foreign)) : null].filter(Boolean);
}

async function drop(i, store, refresh) {
  const yes = await ask({title: ['Drop the index ', foreign(i.KeyName), '?'], danger: true, action: 'Drop the index', confirm: i.KeyName,
    body: [el('p', null, 'This removes all entries of the index in this store and its definition from the header. Queries of programs that use it fail until it is built again; records stay.'), el('p', null, 'A program whose code has the index adds it again, to be built.')]});
  if (!yes) return;
  try {
    await post('indexes/drop', {...store, index: i.KeyName});
    toast(`${i.KeyName} is being dropped.`);
  } catch (error) {
    toast(error.message, 'bad');
  }
  refresh();
}

// progress shows a build, in whatever process.
function progress(b) {
  if (!b.indexes.length) return null;
  const share = b.estimatedBytes ? b.estimatedDone / b.estimatedBytes : b.ranges ? b.rangesDone / b.ranges : 0;
  return notice('plain', el('p', {class: 'notice-title'}, `Building ${b.indexes.map(flat).join(', ')}`), meter('Build', share),
    el('p', {class: 'quiet'}, `${plural(b.records, 'record')} done · ${b.rangesDone} of ${plural(b.ranges, 'range')} · ${plural(b.workers, 'worker')}${b.remainingMs ? ` · about ${span(b.remainingMs)} left` : ''}`));
}

const names = {build: 'Build', verify: 'Verification', repair: 'Repair', drop: 'Drop'};

// work shows a job.
function work(j, refresh) {
  const state = !j.ended ? badge('running', 'warn') : j.error ? badge('failed', 'bad') : badge('done', 'good');
  const found = j.result ?? j.progress;
  return el('article', {class: 'job', 'data-job': j.kind}, el('header', null, el('strong', null, names[j.kind] ?? j.kind), ' ', state, el('span', {class: 'quiet'}, ` ${time(j.begun)}${j.ended ? ', ' + span(new Date(j.ended) - new Date(j.begun)) : ''}`),
    !j.ended ? button('Cancel', async () => { await post('jobs/cancel', {id: j.id}).catch(() => {}); refresh(); }) : null),
  j.error ? el('p', {class: 'pre'}, printable(j.error)) : null,
  found && 'faults' in found ? report(found) : null,
  found && 'ranges' in found && !j.ended ? el('p', {class: 'quiet'}, `${plural(found.records, 'record')} done`) : null);
}

function report(r) {
  return [el('p', null, `${plural(r.records, 'record')} and ${plural(r.entries, 'entry', 'entries')} read. `,
    r.count ? el('strong', null, `${r.more ? 'More than ' : ''}${plural(r.count, 'fault')}${r.repaired ? `, ${count(r.repaired)} repaired` : ''}.`) : 'No faults.',
    r.skipped.length ? ` Not compared, because not readable, or because a count would have to be written: ${r.skipped.map(flat).join(', ')}.` : ''),
  r.faults.length ? table('Faults', [{name: 'Index'}, {name: 'Record', mono: true}, {name: 'Fault', wide: true}], r.faults.map(f => [flat(f.index || 'record'), foreign(f.id), flat(f.reason)])) : null];
}
