// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package election_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// The variables that make TestCandidateProcess a process of TestProcesses.
const (
	prefixVariable = "KAZAHANA_TEST_PREFIX"
	ownerVariable  = "KAZAHANA_TEST_OWNER"
)

// ofProcesses are the options of candidates that are processes.
func ofProcesses(owner string) election.Options {
	return election.Options{Candidate: owner, Duration: 2 * time.Second, ElectionTimeout: time.Second}
}

// TestProcesses elects leaders among processes on a cluster, and kills each, ten times.
// Every time another leads; what all of them wrote is in the order of ranks.
func TestProcesses(t *testing.T) {
	cluster, prefix := enginetest.OpenOwn(t, fdbkv.Options{})
	db := enginetest.Below(cluster, []byte(prefix))
	running := map[string]*exec.Cmd{}
	begin := func(owner string) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCandidateProcess$")
		cmd.Env = append(os.Environ(), prefixVariable+"="+prefix, ownerVariable+"="+owner)
		check(t, cmd.Start())
		running[owner] = cmd
	}
	end := func(owner string) {
		check(t, running[owner].Process.Kill())
		_ = running[owner].Wait() // of a process that was killed: an error
		delete(running, owner)
	}
	for i := range 3 {
		begin(fmt.Sprint("process ", i))
	}
	defer func() {
		for owner := range running {
			end(owner)
		}
	}()
	patient, stop := context.WithTimeout(ctx, 3*time.Minute)
	defer stop()
	kills := 0
	var rank int64
	for status, err := range newElection(t, db, ofProcesses("observer")).Observe(patient) {
		check(t, err)
		if status.Leader == "" {
			continue
		}
		if status.Rank <= rank {
			t.Errorf("rank %d follows rank %d", status.Rank, rank)
		}
		rank = status.Rank
		if kills++; kills > 10 {
			break
		}
		end(status.Leader)
		begin(fmt.Sprint("process ", 2+kills))
	}
	log := ranks(t, db)
	for i := range log[1:] {
		if log[i+1] < log[i] {
			t.Errorf("rank %d wrote after rank %d", log[i+1], log[i])
		}
	}
	t.Logf("%d writes in %d terms", len(log), rank)
}

// TestCandidateProcess is one of the processes. It ends with its parent, or killed.
func TestCandidateProcess(t *testing.T) {
	prefix := os.Getenv(prefixVariable)
	if prefix == "" {
		t.Skip("TestProcesses runs it")
	}
	db := enginetest.Below(enginetest.OpenCluster(t, fdbkv.Options{}), []byte(prefix))
	e := newElection(t, db, ofProcesses(os.Getenv(ownerVariable)))
	check(t, e.Run(ctx, func(ctx context.Context, term election.Term) error {
		var under kv.Database = term.Under(db)
		for {
			if err := appendRank(under, term.Rank()); err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	}))
}
