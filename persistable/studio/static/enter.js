// SPDX-License-Identifier: Apache-2.0

// Sends the token in the body of a request: no log of addresses has it then.
const fault = document.getElementById('fault');
const token = document.getElementById('token');

document.getElementById('enter').addEventListener('submit', async event => {
  event.preventDefault();
  fault.textContent = '';
  try {
    const answer = await fetch('enter', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({token: token.value.trim()})});
    if (answer.ok) location.reload();
    else fault.textContent = await answer.text();
  } catch {
    fault.textContent = 'The server does not answer.';
  }
  token.select();
});
token.focus();
