// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/cluster/clustertest"
	"github.com/kazahana-db/kazahana/internal/enginetest"
)

func healthOf(t *testing.T, document []byte) Health {
	t.Helper()
	h, err := parse(document)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// codesOf returns the codes of the faults, in their order.
func codesOf(h Health) string {
	var codes []string
	for _, f := range h.Faults() {
		codes = append(codes, f.Code)
	}
	return strings.Join(codes, " ")
}

// TestRecorded: of real clusters in several states, what is read, and what is judged.
func TestRecorded(t *testing.T) {
	for _, c := range []struct{ name, health, faults string }{
		{clustertest.Single, "available, single, data healthy, loses data after 0 zones, 1 processes, 0 tags by hand", SingleCopy},
		{clustertest.Double, "available, double, data healthy, loses data after 1 zones, 3 processes, 0 tags by hand", ""},
		{clustertest.Killed, "available, double, data healthy, loses data after 0 zones, 2 processes, 0 tags by hand", NoTolerance + " " + Coordinators},
		{clustertest.Throttled, "available, single, data initializing, loses data after 0 zones, 1 processes, 1 tags by hand", SingleCopy + " " + Unknown},
		{clustertest.Unavailable, "unavailable, , data , loses data after unknown zones, 0 processes, unknown tags by hand", Unavailable + " " + Coordinators},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := healthOf(t, clustertest.Document(c.name))
			if got := summary(h); got != c.health {
				t.Errorf("read %s\nwant %s", got, c.health)
			}
			if got := codesOf(h); got != c.faults {
				t.Errorf("judged %v, want %s", h.Faults(), c.faults)
			}
		})
	}
}

func summary(h Health) string {
	state, zones, tags := "unavailable", "unknown", "unknown"
	if h.Available {
		state = "available"
	}
	if n := h.Tolerance.Data; n != nil {
		zones = fmt.Sprint(*n)
	}
	if h.Throttled != nil {
		tags = fmt.Sprint(h.Throttled.Manual)
	}
	return fmt.Sprintf("%s, %s, data %s, loses data after %s zones, %d processes, %s tags by hand",
		state, h.Redundancy, h.Data.State, zones, len(h.Processes), tags)
}

// TestRecordedDetails: what a healthy cluster of three processes says, in JSON.
func TestRecordedDetails(t *testing.T) {
	h := healthOf(t, clustertest.Document(clustertest.Double))
	h.Processes = h.Processes[:1]
	got, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"available":true,"recovery":"Recovery complete.","recoveredSeconds":82.048,"redundancy":"double","tolerance":{"data":1,"availability":1},` +
		`"data":{"state":"healthy","healthy":true,"replicas":2,"movingBytes":0,"keyValueBytes":0,"diskBytes":314986800},"space":{"storageBytes":4080204948,"logBytes":63562194561},` +
		`"lag":{"dataSeconds":0,"durabilitySeconds":5.028},"limitedBy":{"name":"workload","description":"The database is not being saturated by the workload."},` +
		`"throttledTags":{"manual":0,"auto":0},"machines":3,"clients":[{"version":"7.3.79","count":22}],` +
		`"processes":[{"address":"127.0.0.1:4800","version":"7.3.79","roles":["cluster_controller","coordinator","log","resolver","storage"],"freeShare":0.6999716778617715,"dataLagSeconds":2.147,"durabilityLagSeconds":5}],` +
		`"coordinators":[{"address":"127.0.0.1:4800","reachable":true},{"address":"127.0.0.1:4801","reachable":true},{"address":"127.0.0.1:4802","reachable":true}],"messages":[]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// edit changes a member of a document, at a path of names; nil removes it.
func edit(t *testing.T, document []byte, path string, to any) []byte {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(document, &root); err != nil {
		t.Fatal(err)
	}
	names := strings.Split(path, ".")
	at, last := root, names[len(names)-1]
	for _, name := range names[:len(names)-1] {
		next, ok := at[name].(map[string]any)
		if !ok {
			t.Fatalf("the document has no %s of %s", name, path)
		}
		at = next
	}
	if at[last] = to; to == nil {
		delete(at, last)
	}
	edited, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return edited
}

// TestFaults changes one thing in the document of a healthy cluster. Each code is of one of the
// changes, or of a recorded document.
func TestFaults(t *testing.T) {
	healthy := clustertest.Document(clustertest.Double)
	disk := func(free int) any { return map[string]any{"free_bytes": free, "total_bytes": 1000} }
	lagging := func(member string, seconds float64) any {
		return []any{map[string]any{"role": "storage", member: map[string]any{"seconds": seconds}}}
	}
	said := func(name string) any { return []any{map[string]any{"name": name, "description": "It is so."}} }
	seen := []string{SingleCopy}
	for _, c := range []struct {
		at         string
		to         any
		code, text string
	}{
		{"client.database_status.available", false, Unavailable, "the cluster does not take transactions: Recovery complete"},
		{"cluster.data.state", map[string]any{"name": "missing_data", "healthy": false}, MissingData, "missing data"},
		{"cluster.data.state", map[string]any{"name": "healing", "healthy": false, "min_replicas_remaining": 1, "description": "Only one replica remains of some data"}, FewCopies, "one copy left: Only one replica"},
		{"cluster.data.state", map[string]any{"name": "healing", "healthy": false, "min_replicas_remaining": 2}, FewCopies, "2 copies left: healing"},
		{"cluster.data.state", map[string]any{"name": "healing", "healthy": false}, FewCopies, "too few copies: healing"},
		{"cluster.data.state", nil, Unknown, "does not tell"},
		{"cluster.data.moving_data.in_queue_bytes", 7, MovingData, "7 bytes are being moved, or wait for it: healthy"},
		{"cluster.fault_tolerance.max_zone_failures_without_losing_data", 0, NoTolerance, "may lose data, although the redundancy mode is double"},
		{"cluster.fault_tolerance.max_zone_failures_without_losing_data", -1, NoTolerance, "may lose data"},
		{"cluster.fault_tolerance.max_zone_failures_without_losing_availability", 0, NoTolerance, "stops the cluster"},
		{"client.coordinators.coordinators", []any{map[string]any{"address": "a", "reachable": false}, map[string]any{"address": "b", "reachable": true}}, Coordinators, "of 2 coordinators 1 cannot be reached: a"},
		{"cluster.processes.process-0.disk", disk(99), LittleSpace, "less than 10 % is free: 127.0.0.1:4800 (9.9 %)"},
		{"cluster.processes.process-0.disk", disk(101), "", ""},
		{"cluster.processes.process-0.roles", []any{map[string]any{"role": "storage", "kvstore_available_bytes": 1, "kvstore_total_bytes": 100}}, LittleSpace, "4800 (1.0 %)"},
		{"cluster.processes.process-0.roles", lagging("data_lag", 16), Lagging, "127.0.0.1:4800 applies commits 16 s late"},
		{"cluster.processes.process-0.roles", lagging("data_lag", 14), "", ""},
		{"cluster.processes.process-0.roles", lagging("durability_lag", 61), Lagging, "127.0.0.1:4800 writes to its disk 61 s late"},
		{"cluster.processes.process-0.roles", lagging("durability_lag", 59), "", ""},
		{"cluster.messages", said("storage_servers_error"), Warned, "It is so (storage_servers_error)"},
		{"cluster.messages", said("client_issues"), Remarked, "It is so (client_issues)"},
		{"client.messages", said("inconsistent_cluster_file"), Warned, "It is so (inconsistent_cluster_file)"},
		{"cluster.processes.process-0.messages", said("io_error"), Warned, "127.0.0.1:4800: It is so (io_error)"},
		{"cluster.processes.process-0.messages", []any{map[string]any{"type": "IoError"}}, Warned, "127.0.0.1:4800: IoError"},
	} {
		h := healthOf(t, edit(t, healthy, c.at, c.to))
		if got := codesOf(h); got != c.code || c.code != "" && !strings.Contains(h.Faults()[0].Reason, c.text) {
			t.Errorf("%s = %v: judged %v, want %s: %s", c.at, c.to, h.Faults(), c.code, c.text)
		}
		seen = append(seen, c.code)
	}
	for _, code := range Codes() {
		if !slices.Contains(seen, code) {
			t.Errorf("no document has the fault %s", code)
		}
	}
}

// TestLagAfterRecovery: a recovery lets versions jump ahead, which does not count as lag.
func TestLagAfterRecovery(t *testing.T) {
	late := edit(t, clustertest.Document(clustertest.Double), "cluster.processes.process-0.roles", []any{map[string]any{"role": "storage", "durability_lag": map[string]any{"seconds": 100}}})
	if got := codesOf(healthOf(t, edit(t, late, "cluster.recovery_state.seconds_since_last_recovered", 59))); got != "" {
		t.Errorf("59 s after a recovery: %s", got)
	}
	if got := codesOf(healthOf(t, edit(t, late, "cluster.recovery_state", nil))); got != Lagging {
		t.Errorf("without the time since the last recovery: %q", got)
	}
}

// TestManyProcesses: a reason names some, and counts the others.
func TestManyProcesses(t *testing.T) {
	h := Health{Available: true}
	for i := range 7 {
		h.Coordinators = append(h.Coordinators, Coordinator{fmt.Sprint(i), new(false)})
	}
	if got := h.lostCoordinators()[0].Reason; got != "of 7 coordinators 7 cannot be reached: 0, 1, 2, 3, 4 and 2 more" {
		t.Error(got)
	}
}

// TestTolerant takes each member out of a document, and puts one of another type in its place,
// as another version of FoundationDB might do: the rest is read nevertheless.
func TestTolerant(t *testing.T) {
	document := clustertest.Document(clustertest.Double)
	for _, path := range paths(t, document) {
		for _, to := range []any{nil, "text", 1.5, []any{}, map[string]any{"x": 1}} {
			h := healthOf(t, edit(t, document, path, to))
			h.Faults()
			if kept := h.Redundancy == "double"; !kept && !strings.HasPrefix("cluster.configuration.redundancy_mode", path) {
				t.Errorf("%s = %v: the redundancy mode is lost", path, to)
			}
			if h.Clients == nil || h.Processes == nil || h.Coordinators == nil || h.Messages == nil {
				t.Errorf("%s = %v: a list is nil, which JSON has as null", path, to)
			}
		}
	}
	for _, document := range []string{"{}", `{"client":null,"cluster":null}`, "[]", "null"} {
		if got := codesOf(healthOf(t, []byte(document))); got != Unavailable {
			t.Errorf("%s: %s", document, got)
		}
	}
	for _, document := range []string{"", "{", "\xff"} {
		if _, err := parse([]byte(document)); err == nil {
			t.Errorf("%q is read", document)
		}
	}
}

// paths returns those of all members of objects of a document.
func paths(t *testing.T, document []byte) (all []string) {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(document, &root); err != nil {
		t.Fatal(err)
	}
	var walk func(at map[string]any, prefix string)
	walk = func(at map[string]any, prefix string) {
		for name, value := range at {
			all = append(all, prefix+name)
			if below, ok := value.(map[string]any); ok {
				walk(below, prefix+name+".")
			}
		}
	}
	walk(root, "")
	return all
}

// TestRead reads the status by its key, and as it is.
func TestRead(t *testing.T) {
	s, err := Read(t.Context(), clustertest.Pretend(enginetest.InProcess(t), clustertest.Killed))
	if err != nil || string(s.Document) != string(clustertest.Document(clustertest.Killed)) || s.Health.Redundancy != "double" {
		t.Errorf("read %s as %+v, %v", s.Document, s.Health, err)
	}
}

// TestReadEmbedded: an embedded engine has no status.
func TestReadEmbedded(t *testing.T) {
	if s, err := Read(t.Context(), enginetest.InProcess(t)); err == nil {
		t.Errorf("read %+v", s)
	}
}
