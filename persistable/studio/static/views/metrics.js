// SPDX-License-Identifier: Apache-2.0

import {get} from '../api.js';
import {chart} from '../chart.js';
import {el, put} from '../dom.js';
import {brief, bytes, count} from '../format.js';
import {button, empty, heading, notice, table} from '../parts.js';

export async function show({signal}) {
  const first = await get('metrics', {}, signal);
  if (!first.available) {
    return {title: 'Metrics', body: [heading('Metrics'), empty('A cluster has metrics of its own', 'FoundationDB tells how it does by status json, which fdbcli and its exporters read.')]};
  }
  const charts = el('div', {class: 'charts'});
  const now = el('div');
  const fault = el('div');
  let timer = 0;
  const draw = m => {
    put(charts, drawCharts(m.samples));
    put(now, table('All metrics', [{name: 'Metric', mono: true}, {name: 'Now', number: true}], Object.entries(m.now).map(([name, v]) => [name, figure(v)])));
  };
  const refresh = async () => {
    try {
      draw(await get('metrics', {}, signal));
      put(fault);
    } catch (error) {
      if (error.name === 'AbortError') return;
      put(fault, notice('bad', error.message));
    }
    if (!signal.aborted && !stopped) timer = setTimeout(refresh, Math.max(1000, first.everyMs));
  };
  let stopped = false;
  const stop = button('Pause', () => {
    stopped = !stopped;
    stop.textContent = stopped ? 'Go on' : 'Pause';
    stop.setAttribute('aria-pressed', String(stopped));
    clearTimeout(timer);
    if (!stopped) refresh();
  }, '', {'aria-pressed': 'false'});
  signal.addEventListener('abort', () => clearTimeout(timer));
  draw(first);
  timer = setTimeout(refresh, Math.max(1000, first.everyMs));
  return {
    title: 'Metrics',
    body: [
      heading('Metrics', stop),
      el('p', {class: 'lead'}, `Of the engine in this process, sampled every ${first.everyMs >= 1000 ? `${first.everyMs / 1000} s` : `${first.everyMs} ms`}; the last 600 samples. No other program can use the folder now, so commits are those of this page.`),
      fault, charts, el('details', null, el('summary', null, 'All metrics as they are now'), now),
    ],
  };
}

function drawCharts(samples) {
  const all = samples.length > 1 ? samples : [...samples, ...samples];
  const times = all.map(s => Date.parse(s.time));
  const rate = pick => all.map((s, i) => i === 0 ? 0 : (pick(s) - pick(all[i - 1])) / Math.max(0.001, (times[i] - times[i - 1]) / 1000));
  const ratio = (over, under) => all.map((s, i) => {
    const d = i === 0 ? 0 : under(s) - under(all[i - 1]);
    return d > 0 ? (over(s) - over(all[i - 1])) / d : 0;
  });
  const number = v => v >= 100 ? brief(v) : String(Math.round(v * 10) / 10);
  const line = (title, unit, values, show, kind = 'one') => chart({title, unit, times, series: [{name: title, values, class: kind}], show});
  return [
    chart({title: 'Commits', unit: 'per second', times, show: number, series: [{name: 'made', values: rate(s => s.commits), class: 'one'}, {name: 'conflicts', values: rate(s => s.conflicts), class: 'two'}]}),
    line('Sync of the log', 'mean', ratio(s => s.syncMs, s => s.syncs), v => `${v < 10 ? v.toFixed(2) : Math.round(v)} ms`),
    line('Commits that wait', '', all.map(s => s.queued), number),
    line('Window in memory', '', all.map(s => s.windowBytes), bytes),
    chart({title: 'On the disk', unit: '', times, show: bytes, series: [{name: 'log', values: all.map(s => s.logBytes), class: 'two'}, {name: 'base', values: all.map(s => s.baseBytes), class: 'one'}]}),
    line('Cache', 'of what was read', all.map(s => s.cacheBytes), bytes),
    line('Blocks found in the cache', '', ratio(s => s.cacheHits, s => s.cacheHits + s.cacheMisses), v => `${Math.round(v * 100)} %`),
    line('Watches', 'outstanding', all.map(s => s.watches), number),
  ];
}

// figure shows a metric: histograms by their count and greatest value.
function figure(v) {
  if (typeof v === 'number') return count(v);
  if (v && typeof v === 'object') return `${count(v.Count)} values, at most ${count(v.Max)}`;
  return String(v) || '—';
}
