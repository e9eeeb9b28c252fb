// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// TestWorkers checks the list of workers: it is the controller's, escaped; if the controller does not
// answer, or there is none, the page says so.
func TestWorkers(t *testing.T) {
	now := time.Now()
	list := controller.Workers{Items: []controller.Worker{{
		WorkerID: 77, Heartbeat: now.Add(-90 * time.Second),
		Registration: controller.Registration{
			Instance: "w-<b>1", Address: "http://w1:8080", Version: "9.8.7", Started: now, Load: controller.Load{RequestsPerSecond: 1234},
		},
	}}}
	for name, c := range map[string]struct {
		workers func(context.Context) (controller.Workers, error)
		want    []string
	}{
		"none":   {nil, []string{"controller.endpoint"}},
		"empty":  {func(context.Context) (controller.Workers, error) { return controller.Workers{}, nil }, []string{"no live worker"}},
		"listed": {func(context.Context) (controller.Workers, error) { return list, nil }, []string{">77<", "w-&lt;b&gt;1", "http://w1:8080", "9.8.7", " ago<"}},
		"silenced": {func(context.Context) (controller.Workers, error) {
			return controller.Workers{}, errors.New("secret-detail")
		}, []string{"does not answer now"}},
	} {
		page := start(t, Options{Workers: c.workers}).login().get("workers")
		for _, text := range c.want {
			if !strings.Contains(page.text, text) {
				t.Errorf("%s: the page lacks %q:\n%s", name, text, page.text)
			}
		}
		if strings.Contains(page.text, "<b>1") || strings.Contains(page.text, "secret-detail") {
			t.Errorf("%s: the page is\n%s", name, page.text)
		}
	}
}

// TestPagesSayWhatTheyShow: the first page names the worker, its store, version and uptime; that
// of a formatted key its counters, that of a snowflake key its leases and no numbers in memory;
// forms name the fields of the API; a phone shows addresses and heartbeats.
func TestPagesSayWhatTheyShow(t *testing.T) {
	now := time.Now()
	list := controller.Workers{Items: []controller.Worker{{Heartbeat: now, Registration: controller.Registration{Instance: "instance", Address: "http://w1:8080"}}}}
	s := start(t, Options{Address: "http://me:8080", Store: "postgresql, db.example.com", Version: "1.2.3", Workers: func(context.Context) (controller.Workers, error) { return list, nil }})
	s.saveConfig(idconfig.TypeFormatted, `{"key": "f", "parts": [{"type": "fixed-chars", "value": "F"}, {"type": "auto-increment", "length": 4, "length_fixed": true}]}`)
	s.saveConfig(idconfig.TypeSnowflake, `{"key": "s", "base_ts": 0, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`)
	if _, err := s.Formatted(t.Context(), nil, "f", 1); err != nil {
		t.Fatal(err)
	}
	v := s.login()
	v.get("").wantPage(200, "http://me:8080", "postgresql, db.example.com", "1.2.3", "Running for")
	v.get("key?key=f").wantPage(200, "Numbers reserved by workers", "up to 10", "Numbers that remain", "9,989")
	v.get("key?key=s").wantPage(200, "0 of 1,024", "Worker ids leased or renewed").wantNo("Numbers in memory")
	v.get("charts?key=s&type=snowflake").wantNo("Numbers in memory")
	v.get("edit?key=s").wantPage(200, `<code class="api">worker_id_size</code>`)
	v.get("workers").wantPage(200, `<th scope="row" class="mono">http://w1:8080</th>`, `<td class="n"><time `, `<td class="wide mono">instance</td>`)
}
