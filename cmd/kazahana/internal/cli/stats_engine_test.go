// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/cluster/clustertest"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
)

func engineOf(t *testing.T, db kv.Database) engineNumbers {
	t.Helper()
	e, err := readEngine(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	e.Version = 1
	return e
}

// TestStatsOfCluster shows a cluster that has lost one of three processes.
func TestStatsOfCluster(t *testing.T) {
	e := engineOf(t, clustertest.Pretend(enginetest.InProcess(t), clustertest.Killed))
	const want = `
engine       foundationdb
version      1
cluster      available: Recovery complete, 2 processes on 2 machines
replication  double, healthy, 0 zones may fail without loss of data, 0 zones may fail without loss of availability
data         0 B of keys and values, 210 MB on disk, 0 B to be moved
free space   4.1 GB for storage, 64 GB for logs, 71 % at 127.0.0.1:4800, the fullest process
lag          0.0 s until commits are applied, 5.0 s until they are on disk
limited by   workload: The database is not being saturated by the workload
throttled    0 tags by hand, 0 tags by the cluster
clients      5 of version 7.3.79
roles        1 cluster_controller, 2 commit_proxy, 1 consistency_scan, 2 coordinator, 1 data_distributor, 1 grv_proxy, 2 log, 1 master, 1 ratekeeper, 1 resolver, 2 storage
faults       cluster/no-tolerance: the failure of one more zone may lose data, although the redundancy mode is double
             cluster/coordinators: of 3 coordinators 1 cannot be reached: 127.0.0.1:4802`
	if got := "\n" + strings.Join(shell.Fields(e.fields()...), "\n"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"health":{"available":true,`, `"faults":[{"code":"cluster/no-tolerance","reason":"`, `"status":{"client":{`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the JSON has no %s: %s", part, text)
		}
	}
}

// TestStatsOfClusterThatTellsLittle leaves out what the status does not tell.
func TestStatsOfClusterThatTellsLittle(t *testing.T) {
	e := engineOf(t, clustertest.Pretend(enginetest.InProcess(t), clustertest.Unavailable))
	got := strings.Join(shell.Fields(e.fields()[:6]...), "\n")
	const want = "engine   foundationdb\nversion  1\ncluster  not available, 0 processes on 0 machines"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	e = engineOf(t, struct{ kv.Database }{enginetest.InProcess(t)}) // it refuses the key
	if text := strings.Join(shell.Fields(e.fields()...), "\n"); !strings.Contains(text, "health   unknown: cluster: read the status: ") || e.Health != nil {
		t.Errorf("a cluster that refuses its status: %s", text)
	}
}
