// SPDX-License-Identifier: Apache-2.0

import {el} from './dom.js';
import {bytes, flat, plural} from './format.js';
import {badge, facts, foreign, notice, table} from './parts.js';

// healthSection shows how a cluster is. What the cluster does not tell is left out.
export function healthSection({health, faults, unknown}) {
  if (!health) return el('section', null, el('h2', null, 'Cluster'), notice('warn', 'The health of the cluster is not known: ', foreign(unknown)));
  return el('section', {class: 'health'}, el('h2', null, 'Cluster'),
    faults.map(f => notice(kindOf(f.code), foreign(f.reason))),
    faults.length && health.available ? el('p', {class: 'quiet'}, 'The command kazahana doctor says what to do.') : null,
    facts(...healthFacts(health)),
    health.processes.length ? table('Processes', columns, health.processes.map(processRow)) : null);
}

const columns = [{name: 'Process'}, {name: 'Version'}, {name: 'Roles', wide: true}, {name: 'Free', number: true}, {name: 'Lag', number: true}];

const grave = new Set(['cluster/unavailable', 'cluster/missing-data']);
const harmless = new Set(['cluster/moving-data', 'cluster/remark', 'cluster/unknown']);

function kindOf(code) {
  if (grave.has(code)) return 'bad';
  return harmless.has(code) ? 'plain' : 'warn';
}

function healthFacts(h) {
  const {tolerance, data, space, lag, limitedBy, throttledTags: tags} = h;
  return [
    ['State', h.available ? badge('available', 'good') : badge('not available', 'bad'), ' ', foreign(sentence(h.recovery))],
    ['Replication', join([h.redundancy && foreign(h.redundancy), data.state && foreign((data.description || data.state).replaceAll('_', ' ')),
      known(tolerance.data) && `${plural(tolerance.data, 'zone')} may fail without loss of data`,
      known(tolerance.availability) && `${plural(tolerance.availability, 'zone')} may fail without loss of availability`])],
    ['Data', join([size(data.keyValueBytes, 'of keys and values'), size(data.diskBytes, 'on disk'), size(data.movingBytes, 'to be moved')])],
    ['Free space', join([size(space.storageBytes, 'for storage'), size(space.logBytes, 'for logs')])],
    ['Lag', join([seconds(lag.dataSeconds, 'until commits are applied'), seconds(lag.durabilitySeconds, 'until they are on disk')])],
    limitedBy && ['Limited by', foreign(`${limitedBy.name}: ${sentence(limitedBy.description)}`)],
    tags && ['Throttled tags', `${tags.manual} by hand, ${tags.auto} by the cluster`],
    ['Limited tags', h.tagsUnknown ? ['not known: ', foreign(h.tagsUnknown)] : join((h.tags || []).map(t => foreign(tagText(t))))],
    ['Clients', join(h.clients.map(c => `${c.count} of version ${flat(c.version)}`))],
  ].filter(fact => fact && fact.slice(1).flat(Infinity).length);
}

function processRow(p) {
  return [foreign(p.address), flat(p.version), flat(p.roles.join(', ')), known(p.freeShare) ? `${Math.round(p.freeShare * 100)} %` : '', known(p.dataLagSeconds) ? `${p.dataLagSeconds.toFixed(1)} s` : ''];
}

function tagText(t) {
  if (t.by === 'quota') return `${t.name} by a quota of ${bytes(t.totalBytes || 0)} a second (${bytes(t.reservedBytes || 0)} reserved)`;
  return `${t.name} by ${t.by === 'manual' ? 'hand' : 'the cluster'}`;
}

const known = n => n !== undefined && n !== null;
const sentence = text => flat(text).replace(/\.$/, '');
const size = (n, what) => known(n) && `${bytes(n)} ${what}`;
const seconds = (n, what) => known(n) && `${n.toFixed(1)} s ${what}`;

// join puts commas between the parts that are there.
function join(parts) { return parts.filter(Boolean).flatMap((part, i) => i ? [', ', part] : [part]); }
