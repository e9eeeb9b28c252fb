// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package kvstore_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// The variables that make TestWorkerProcess a process of TestProcesses.
const (
	prefixVariable = "KAZAHANA_TEST_PREFIX"
	nameVariable   = "KAZAHANA_TEST_NAME"
	seedVariable   = "KAZAHANA_TEST_SEED"
)

// TestProcesses is TestChaos with three processes on a cluster, which get kill -9 and
// SIGSTOP: their writes are in the order of epochs, and afterwards all keys can be claimed
// within a bound.
func TestProcesses(t *testing.T) {
	cluster, prefix := enginetest.OpenOwn(t, fdbkv.Options{})
	rng := seed.Rand(t)
	processes := make([]*exec.Cmd, 3)
	begin := func(i int) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWorkerProcess$")
		cmd.Env = append(os.Environ(), prefixVariable+"="+prefix, nameVariable+"="+fmt.Sprint("worker ", i), seedVariable+"="+fmt.Sprint(rng.Uint64()))
		check(t, cmd.Start())
		processes[i] = cmd
	}
	end := func(i int) {
		if cmd := processes[i]; cmd != nil {
			check(t, cmd.Process.Kill())
			_ = cmd.Wait() // of a process that was killed: an error
			processes[i] = nil
		}
	}
	for i := range processes {
		begin(i)
		defer func() { end(i) }()
	}
	for round := range 12 {
		time.Sleep(chaosLease/2 + time.Duration(rng.Int64N(int64(chaosLease))))
		i := rng.IntN(len(processes))
		if round%2 == 0 {
			end(i)
			begin(i)
			continue
		}
		check(t, processes[i].Process.Signal(syscall.SIGSTOP))
		time.Sleep(chaosLease + time.Duration(rng.Int64N(int64(2*chaosLease))))
		check(t, processes[i].Process.Signal(syscall.SIGCONT))
	}
	time.Sleep(chaosLease)
	for i := range processes {
		end(i)
	}
	db := enginetest.Below(cluster, []byte(prefix))
	for _, fault := range checkLog(t, db) {
		t.Error(fault)
	}
	checkHealing(t, db, 5*chaosLease)
}

// TestWorkerProcess is one of the processes. It ends killed.
func TestWorkerProcess(t *testing.T) {
	prefix := os.Getenv(prefixVariable)
	if prefix == "" {
		t.Skip("TestProcesses runs it")
	}
	seed := must[uint64](t)(strconv.ParseUint(os.Getenv(seedVariable), 10, 64))
	db := enginetest.Below(enginetest.OpenCluster(t, fdbkv.Options{}), []byte(prefix))
	newWorker(t, db, os.Getenv(nameVariable), seed).runWorker(ctx)
}
