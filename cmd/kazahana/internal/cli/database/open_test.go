// SPDX-License-Identifier: Apache-2.0

package database

import (
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cluster/clustertest"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// TestWhySilent: what the client knows of an outage is told, and nothing else.
func TestWhySilent(t *testing.T) {
	db := enginetest.InProcess(t)
	for name, want := range map[string]string{
		clustertest.Unavailable: " Its status says: the cluster does not take transactions: Unable to reach a quorum of coordinators (quorum_not_reachable); of 3 coordinators 2 cannot be reached: 127.0.0.1:4801, 127.0.0.1:4802",
		clustertest.Killed:      "",
	} {
		if got := whySilent(t.Context(), clustertest.Pretend(db, name)); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if got := whySilent(t.Context(), struct{ kv.Database }{db}); got != "" {
		t.Errorf("no status: %q", got)
	}
}
