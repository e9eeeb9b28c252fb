// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/internal/cluster"
	"github.com/kazahana-db/kazahana/internal/cluster/clustertest"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
)

// TestVerdict pins the exit codes, which scripts depend on.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		report doctor.Report
		want   int
	}{
		{doctor.Report{Warnings: 1, Notices: 1}, 0},
		{doctor.Report{Warnings: 1, NotExamined: 1}, 6},
		{doctor.Report{Damage: 1, Warnings: 1, NotExamined: 1}, 5},
	} {
		if got := shell.Code(verdict(c.report)); got != c.want {
			t.Errorf("%+v: exit code %d, want %d", c.report, got, c.want)
		}
	}
}

// TestClusterFaults: a cluster that refuses its status has the fault that it is not known.
func TestClusterFaults(t *testing.T) {
	db := enginetest.InProcess(t)
	if got := clusterFaults(t.Context(), clustertest.Pretend(db, clustertest.Double)); len(got) > 0 {
		t.Errorf("a healthy cluster: %v", got)
	}
	if got := clusterFaults(t.Context(), clustertest.Pretend(db, clustertest.Single)); len(got) != 1 || got[0].Code != cluster.SingleCopy {
		t.Errorf("a single process: %v", got)
	}
	if got := clusterFaults(t.Context(), struct{ kv.Database }{db}); len(got) != 1 || got[0].Code != cluster.Unknown {
		t.Errorf("no status: %v", got)
	}
}

// TestFindingOfCluster: a finding about the cluster names no directory.
func TestFindingOfCluster(t *testing.T) {
	got := strings.Join(newFinding(doctor.Finding{Code: cluster.SingleCopy, Severity: doctor.Warning, Reason: "so", Remedy: "do"}).Lines(), "\n")
	if want := "warning  cluster/single-copy\nreason   so\nremedy   do\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
