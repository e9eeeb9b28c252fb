// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package studio

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/servers"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// TestOutageOfACluster stops and kills the only process of a cluster: every request says so in time, and is served when
// the process is back.
func TestOutageOfACluster(t *testing.T) {
	const inTime = askAfter + silentAfter + 10*time.Second // on a busy machine
	c := servers.StartFoundationDB(t, 1)
	engine, err := fdbkv.Open(c.File)
	must(t, err)
	t.Cleanup(func() { closeAll(t, engine) })
	s := startOn(t, engine, Options{Database: "the cluster"})
	s.client.Timeout = generous
	ask := func(q request) (status int, f failure) {
		begun := time.Now()
		answer, err := s.client.Get(s.URL + q.path)
		must(t, err)
		status = s.read(answer, &f)
		if took := time.Since(begun); took > inTime {
			t.Errorf("%s took %v", q.path, took)
		}
		return status, f
	}
	for name, fault := range map[string]struct{ begin, end func(testing.TB) }{
		"stopped": {c.Processes[0].Pause, c.Processes[0].Resume},
		"killed":  {c.Processes[0].Kill, c.Processes[0].Start},
	} {
		fault.begin(t)
		for _, q := range requests() {
			if q.method != http.MethodGet {
				continue
			}
			if status, f := ask(q); status != http.StatusServiceUnavailable || !f.Outage || !strings.Contains(f.Error, "the cluster has not answered for ") {
				t.Errorf("%s: %s answers %d %+v", name, q.path, status, f)
			}
		}
		var h health
		if status := s.get("health", nil, &h); status != http.StatusOK || h.Health == nil && h.Unknown == "" {
			t.Errorf("%s: the health: %d %+v", name, status, h)
		}
		t.Logf("%s: faults %+v, unknown %q", name, h.Faults, h.Unknown)
		fault.end(t)
		for end := time.Now().Add(generous); ; time.Sleep(100 * time.Millisecond) {
			status, f := ask(requests()[0])
			if status == http.StatusOK {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s, and back: %d %+v", name, status, f)
			}
		}
	}
}
