// SPDX-License-Identifier: Apache-2.0

package database

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/cluster/clustertest"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// TestWhySilent: what the client knows of an outage is told, and nothing else.
func TestWhySilent(t *testing.T) {
	db := enginetest.InProcess(t)
	for name, want := range map[string]string{
		clustertest.Unavailable: " Its status says: the cluster does not take transactions: Unable to reach a quorum of coordinators (quorum_not_reachable); of 3 coordinators 2 cannot be reached: 127.0.0.1:4801, 127.0.0.1:4802.",
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

// TestSilentCluster: a cluster that does not answer is not waited for; the error says what its client knows, and what
// to do.
func TestSilentCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &enginetest.Silent{Database: enginetest.InProcess(t)}
		engine.SetDown(true)
		begun := time.Now()
		_, err := awaitAnswer(t.Context(), clustertest.Pretend(engine, clustertest.Unavailable), "a.cluster")
		if took := time.Since(begun); err == nil || took > patience {
			t.Fatalf("%v after %v", err, took)
		}
		for _, part := range []string{"the cluster of a.cluster has not answered within 10s. Its status says: ", "4802. Run fdbcli -C a.cluster "} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in: %v", part, err)
			}
		}
		engine.SetDown(false)
	})
}
