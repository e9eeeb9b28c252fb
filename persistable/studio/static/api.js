// SPDX-License-Identifier: Apache-2.0

// Failure is an answer that is an error, or none.
export class Failure extends Error {
  constructor(message, status, {outage = false, unknown = false} = {}) {
    super(message);
    this.status = status;
    this.outage = outage; // the database does not answer
    this.unknown = unknown; // it is not known whether a change was made
  }
}

// get asks for a resource. Parameters that are lists come several times.
export async function get(name, params, signal) {
  return ask(fetch(`api/${name}${search(params)}`, {signal, headers: {Accept: 'application/json'}}));
}

// post changes something.
export async function post(name, body, signal) {
  return ask(fetch(`api/${name}`, {method: 'POST', signal, headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)}));
}

async function ask(request) {
  let answer;
  try {
    answer = await request;
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Failure('The server does not answer. Has the program that serves this page ended?', 0);
  }
  const value = await answer.json().catch(error => {
    if (error.name === 'AbortError') throw error;
    return {error: `The server answered ${answer.status} without a reason.`};
  });
  if (!answer.ok) throw new Failure(value.error ?? String(answer.status), answer.status, value);
  return value;
}

// search returns the query of an address, "" if nothing is in it.
export function search(params) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params ?? {})) {
    if (Array.isArray(value)) value.forEach(v => query.append(name, v));
    else if (value !== undefined && value !== null && value !== '' && value !== false) query.set(name, value === true ? '1' : value);
  }
  const text = query.toString();
  return text ? '?' + text : '';
}
