// SPDX-License-Identifier: Apache-2.0

// Everything works without this script but the live preview of IDs, the
// refresh of charts, and the button that copies a token.
'use strict';

// fill replaces what an element contains by HTML of this server.
function fill(element, html) {
  const parsed = new DOMParser().parseFromString(html, 'text/html');
  element.replaceChildren(...parsed.body.childNodes);
}

// A preview follows what is typed, after a pause.
for (const form of document.querySelectorAll('form[data-preview]')) {
  const target = document.getElementById(form.dataset.preview);
  let timer, running;
  const refresh = async () => {
    running?.abort();
    running = new AbortController();
    try {
      const answer = await fetch('preview', {method: 'POST', body: new URLSearchParams(new FormData(form)), signal: running.signal});
      if (answer.status === 401) {
        target.textContent = 'The session has ended; log in again.';
      } else if (answer.ok) {
        fill(target, await answer.text());
      }
    } catch (error) {
      if (error.name !== 'AbortError') target.textContent = 'The service does not answer now.';
    }
  };
  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 200);
  });
}

// refreshCharts reports whether the session lasts.
async function refreshCharts(charts) {
  const answer = await fetch(charts.dataset.refresh);
  if (answer.ok) fill(charts, await answer.text());
  return answer.status !== 401;
}

// Charts are refreshed as long as the page can be seen.
for (const charts of document.querySelectorAll('[data-refresh]')) {
  const timer = setInterval(async () => {
    try {
      if (!document.hidden && !await refreshCharts(charts)) clearInterval(timer);
    } catch {
      // The next refresh may succeed.
    }
  }, 5000);
}

// Tokens can be copied where the browser allows it.
for (const button of document.querySelectorAll('[data-copy]')) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener('click', async () => {
    const input = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(input.value);
      button.textContent = 'Copied';
    } catch {
      input.select();
    }
  });
}
