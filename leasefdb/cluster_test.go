// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package leasefdb_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/leasetest"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// The variables that make TestWorkerProcess a process of TestProcesses.
const (
	prefixVariable = "KAZAHANA_TEST_PREFIX"
	nameVariable   = "KAZAHANA_TEST_NAME"
)

// TestProcesses runs the suite of lease stores with several processes on one
// cluster.
func TestProcesses(t *testing.T) {
	db, prefix := enginetest.OpenOwn(t, fdbkv.Options{})
	leasetest.Run(t, leasetest.Suite{
		Open: func(t *testing.T, name string) lease.Store {
			return processStore(t, enginetest.Below(db, []byte(prefix)), name)
		},
		Process: func(_ *testing.T, name string) *exec.Cmd {
			cmd := exec.Command(os.Args[0], "-test.run=^TestWorkerProcess$")
			cmd.Env = append(os.Environ(), prefixVariable+"="+prefix, nameVariable+"="+name)
			return cmd
		},
	})
}

func processStore(t *testing.T, db kv.Database, name string) lease.Store {
	t.Helper()
	return must[*leasefdb.Store](t)(leasefdb.NewStore(db, leasefdb.Options{Path: []string{"leases", name}}))
}

// TestWorkerProcess is one of the processes.
func TestWorkerProcess(t *testing.T) {
	prefix := os.Getenv(prefixVariable)
	if prefix == "" {
		t.Skip("TestProcesses runs it")
	}
	db := enginetest.Below(enginetest.OpenCluster(t, fdbkv.Options{}), []byte(prefix))
	check(t, leasetest.Work(ctx, processStore(t, db, os.Getenv(nameVariable)), os.Stdout))
	os.Exit(0) // without the word that ends the output of tests
}
