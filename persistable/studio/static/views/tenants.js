// SPDX-License-Identifier: Apache-2.0

import {get, post} from '../api.js';
import {el, put} from '../dom.js';
import {bytes, count, flat, plural} from '../format.js';
import {ask, badge, button, crumbs, empty, ended, foreign, heading, link, meter, notice, pathText, table, toast} from '../parts.js';

export async function show({p, query, signal, info, again, go}) {
  if (!p.length) return choose(signal, go);
  const {tenants, unmeasured, unreadable, next} = await get('tenants', {p, after: query.get('after') ?? '', limit: 100}, signal);
  const columns = [{name: 'Tenant', wide: true}, {name: 'Size', number: true}, {name: 'Quota'}, {name: 'Lock', wide: true}];
  if (info.write) columns.push({name: ''});
  const filter = el('input', {type: 'search', 'data-search': true, placeholder: 'Filter this page', 'aria-label': 'Filter this page', oninput: () => draw()});
  const list = el('div');
  const draw = () => {
    const shown = tenants.filter(t => t.name.toLowerCase().includes(filter.value.toLowerCase()));
    put(list, shown.length ? table('Tenants', columns, shown.map(t => row(t, p, info, again)))
      : empty(tenants.length ? 'No tenant on this page has that in its name' : 'No tenants', tenants.length ? '' : `The directory ${pathText(p)} is empty or does not exist. Tenants appear with the first record of each.`));
  };
  draw();
  return {
    title: 'Tenants',
    body: [
      crumbs(p), heading('Tenants', tenants.length ? el('span', {class: 'quiet'}, `${plural(tenants.length, 'tenant')} on this page`) : null),
      el('div', {class: 'toolbar'}, filter), unmeasured.length ? missing(unmeasured) : null, unreadable ? notice('bad', flat(unreadable)) : null, list,
      el('nav', {class: 'pager', 'aria-label': 'Pages'}, query.get('after') ? link('tenants', {p}, 'First page') : null, next ? link('tenants', {p, after: next}, 'Next page') : null),
    ],
  };
}

// choose lists the directories of tenants.
async function choose(signal, go) {
  const {sets} = await get('sets', {}, signal);
  if (sets.length === 1) {
    go(`./tenants?${new URLSearchParams(sets[0].path.map(e => ['p', e]))}`, {replace: true});
    throw Object.assign(new Error('elsewhere'), {name: 'AbortError'});
  }
  return {
    title: 'Tenants',
    body: [heading('Tenants'), sets.length
      ? table('Sets of tenants', [{name: 'In the directory'}, {name: 'Types', wide: true}], sets.map(s => [link('tenants', {p: s.path}, foreign(pathText(s.path))), flat(s.types.join(', '))]))
      : empty('No tenants', 'No type of this database has a {Field} in its directory. To see the directories in another directory as tenants, choose it under ', link('directories', {}, 'Directories'), '.')],
  };
}

// size shows the size of a tenant, or that it took too long to measure.
function size(n) {
  return n === null ? el('span', {class: 'quiet'}, 'not measured') : bytes(n);
}

// missing names the tenants without a size, and says what tells it.
function missing(names) {
  const shown = names.slice(0, 5).flatMap(name => [foreign(name), ', ']).slice(0, -1);
  return notice('warn', `The sizes of ${plural(names.length, 'tenant')} took too long to measure and are missing: `, ...shown,
    names.length > 5 ? ` and ${count(names.length - 5)} more` : '', '. The command kazahana tenant size waits for one', ended, '.');
}

function row(t, p, info, again) {
  const path = [...p, t.name];
  const cells = [link('directories', {p: path}, foreign(t.name)), size(t.bytes), quota(t.usage),
    t.error ? [badge('cannot be read', 'bad'), ' ', flat(t.error)] : t.lock ? [badge('locked', 'warn'), ' ', foreign(t.lock.reason)] : el('span', {class: 'quiet'}, '—')];
  if (info.write) {
    cells.push(el('span', {class: 'row-actions'}, t.lock
      ? button('Unlock', () => unlock(path, t, again)) : button('Lock', () => lock(path, t, again)),
    button('Remove…', () => remove(path, t, again), 'danger')));
  }
  return cells;
}

function quota({quota: q, records, bytes: used, counting}) {
  if (!q.records && !q.bytes) return el('span', {class: 'quiet'}, 'none');
  return [q.records ? el('span', {class: 'of'}, meter('Records of the quota', records / q.records), `${count(records)} of ${plural(q.records, 'record')}`) : null,
    q.bytes ? el('span', {class: 'of'}, meter('Bytes of the quota', used / q.bytes), `${bytes(used)} of ${bytes(q.bytes)}`) : null,
    counting ? badge('counting', 'warn') : null];
}

async function lock(path, t, again) {
  const reason = await ask({title: ['Lock ', foreign(t.name), '?'], body: el('p', null, 'All programs are refused writes to this tenant until it is unlocked; reads go on. They see the reason.'), input: 'Reason', action: 'Lock'});
  if (reason !== null) run(() => post('tenant/lock', {path, reason}), `${t.name} is locked.`, again);
}

async function unlock(path, t, again) {
  const yes = await ask({title: ['Unlock ', foreign(t.name), '?'], body: el('p', null, 'Locked for: ', foreign(t.lock.reason), '. A copy or export that relies on the lock will fail.'), action: 'Unlock', danger: true});
  if (yes) run(() => post('tenant/unlock', {path, lock: t.lock.id}), `${t.name} is unlocked.`, again);
}

async function remove(path, t, again) {
  const found = await get('tenant', {p: path}).catch(error => toast(error.message, 'bad'));
  if (!found) return;
  const {stores, more, tenant, prefix} = found;
  const yes = await ask({
    title: ['Remove ', foreign(t.name), '?'], danger: true, action: 'Remove the tenant', confirm: t.name,
    body: [el('p', null, 'This removes the directory ', el('code', null, pathText(path)), tenant.bytes === null ? ', which took too long to measure, ' : ` of ${bytes(tenant.bytes)}${tenant.bytes < 65536 ? '' : ', by an estimate'}, `, stores.length ? 'with all records and entries of' : 'in which there is no store.'),
      stores.length ? el('ul', {class: 'plain-list'}, stores.slice(0, 12).map(s => el('li', null, foreign(s.type), el('span', {class: 'quiet'}, ` in ${flat(s.path.join('/'))}`)))) : null,
      stores.length > 12 || more ? el('p', null, 'and more.') : null,
      tenant.lock ? notice('warn', 'The tenant is locked: unlock it first.') : null,
      el('p', null, 'It cannot be undone.')],
  });
  if (yes) run(async () => awaitJob(await post('tenant/remove', {path, prefix})), `${t.name} is removed.`, again);
}

// awaitJob waits until a job has ended. It goes on without the page.
async function awaitJob({job}) {
  for (;;) {
    const {jobs} = await get('jobs');
    const mine = jobs.find(j => j.id === job);
    if (!mine || mine.ended) {
      if (mine?.error) throw new Error(mine.error);
      return;
    }
    await new Promise(resolve => { setTimeout(resolve, 300); });
  }
}

async function run(act, done, again) {
  try {
    await act();
    toast(done);
  } catch (error) {
    toast(error.message, 'bad');
  }
  again();
}

