// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// TestReadCluster reads the status of the cluster of FDB_CLUSTER_FILE.
func TestReadCluster(t *testing.T) {
	s, err := Read(t.Context(), enginetest.OpenCluster(t, fdbkv.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	h := s.Health
	if !h.Available || h.Redundancy == "" || h.Tolerance.Data == nil || h.Data.State == "" || h.LimitedBy == nil || h.Throttled == nil || h.Space.LogBytes == nil || len(h.Coordinators) == 0 {
		t.Errorf("the status of a cluster that answers is read as %+v", h)
	}
	if i := slices.IndexFunc(h.Processes, func(p Process) bool {
		return slices.Contains(p.Roles, "storage") && p.Version != "" && p.FreeShare != nil
	}); i < 0 {
		t.Errorf("no process has the role storage: %+v", h.Processes)
	}
	if strings.Contains(codesOf(h), Unavailable) {
		t.Errorf("a cluster that answers is judged %v", h.Faults())
	}
}
