// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbchaos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/servers"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/persistable"
)

const (
	// faultsVariable is the environment variable that says how many faults each test makes.
	faultsVariable = "KAZAHANA_FAULTS"
	// clients is how many clients each subject has.
	clients = 3
	// patience is how long a call may take to return when its context has ended, and how
	// long a subject may take to go on when the cluster is back, on a busy machine.
	patience = 90 * time.Second
)

// TestOneProcess kills and stops the only process of a cluster.
func TestOneProcess(t *testing.T) {
	runChaos(t, 1, []fault{kill, kill, stop})
}

// TestThreeProcesses kills and stops one process at a time of a cluster that keeps its data
// twice, changes its coordinators, and excludes a process.
func TestThreeProcesses(t *testing.T) {
	runChaos(t, 3, []fault{kill, kill, kill, stop, stop, changeCoordinators, exclude})
}

// subject is work of several clients on the cluster, with an oracle.
type subject interface {
	// work works as one client until ctx ends.
	work(ctx context.Context, client int, random *rand.Rand)
	// acknowledged returns how many results clients have got so far.
	acknowledged() int
	// check fails the test where what is stored is not what was acknowledged.
	check(ctx context.Context)
}

// chaos is a run of all subjects on a cluster.
type chaos struct {
	t        *testing.T
	cluster  *servers.FoundationDB
	db       kv.Database
	random   *rand.Rand
	subjects map[string]subject
	made     map[string]int // faults
}

// fault disturbs the cluster, and returns its name when the cluster is as before.
type fault func(c *chaos) (name string)

// runChaos makes all faults in random order, again and again.
func runChaos(t *testing.T, processes int, faults []fault) {
	c := &chaos{t: t, random: seed.Rand(t), cluster: servers.StartFoundationDB(t, processes), made: map[string]int{}}
	defer func() { t.Logf("faults: %v", c.made) }()
	c.open()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var work sync.WaitGroup
	for _, name := range slices.Sorted(maps.Keys(c.subjects)) {
		for client := range clients {
			random := rand.New(rand.NewPCG(c.random.Uint64(), 0))
			work.Go(func() { c.subjects[name].work(ctx, client, random) })
		}
	}
	c.awaitProgress()
	for i := range count(t) {
		if i%len(faults) == 0 {
			c.awaitRecovery()
			c.random.Shuffle(len(faults), func(a, b int) { faults[a], faults[b] = faults[b], faults[a] })
		}
		c.pause(500 * time.Millisecond)
		c.made[faults[i%len(faults)](c)]++
		c.awaitProgress()
	}
	cancel()
	work.Wait()
	c.check()
}

// open opens the cluster, and makes the subjects.
func (c *chaos) open() {
	engine, err := fdbkv.Open(c.cluster.File)
	check(c.t, err)
	c.db = engine
	c.t.Cleanup(func() { check(c.t, engine.Close()) })
	db, err := persistable.Open(c.t.Context(), engine)
	check(c.t, err)
	c.t.Cleanup(func() { check(c.t, db.Close()) })
	c.subjects = map[string]subject{
		"records": newRecords(c, db), "unique values": newUnique(c, db),
		"leases": newLeases(c), "elections": newElections(c), "placement": newPlacement(c), "actors": newActors(c),
		"processes": newProcesses(c, db),
	}
}

// count returns how many faults to make.
func count(t *testing.T) int {
	text := os.Getenv(faultsVariable)
	if text == "" {
		return 7
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", faultsVariable, err)
	}
	return n
}

// awaitProgress waits until each subject has got a result that it had not got before.
func (c *chaos) awaitProgress() {
	end := time.Now().Add(patience)
	before := map[string]int{}
	for name, s := range c.subjects {
		before[name] = s.acknowledged()
	}
	goesOn := func(name string, n int) bool { return c.subjects[name].acknowledged() > n }
	for ; len(before) > 0; time.Sleep(time.Millisecond) {
		maps.DeleteFunc(before, goesOn)
		if time.Now().After(end) {
			status, err := c.cluster.Run(c.t.Context(), "status details")
			c.t.Fatalf("%v have had no result in the %v since the processes came back: %s %v", slices.Sorted(maps.Keys(before)), patience, status, err)
		}
	}
}

// awaitRecovery waits until the cluster has forgotten its earlier generations, which it may do long after it
// answers. One that has dozens of them recovers no more: its trace log says that there are too many old generations.
func (c *chaos) awaitRecovery() {
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		status, err := c.cluster.Run(c.t.Context(), "status json")
		if err == nil && strings.Contains(status, `"fully_recovered"`) {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("the cluster has not recovered after %v: %v\n%s", patience, err, status)
		}
	}
}

// readAll returns the pairs of all keys with a prefix.
func (c *chaos) readAll(ctx context.Context, prefix []byte) []kv.KeyValue {
	pairs, err := kv.ReadTransact(ctx, c.db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{}).Slice(ctx)
	})
	check(c.t, err)
	return pairs
}

// check compares what is stored with what was acknowledged.
func (c *chaos) check() {
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*patience)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(c.subjects)) {
		c.subjects[name].check(ctx)
		c.t.Logf("%s: %d results acknowledged", name, c.subjects[name].acknowledged())
	}
}

// bounded calls fn with a context that ends after a random time, and fails the test if fn
// does not return soon after.
func (c *chaos) bounded(ctx context.Context, random *rand.Rand, fn func(context.Context) error) error {
	d := []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second}[random.IntN(4)]
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	late := time.AfterFunc(d+patience, func() { c.t.Errorf("a call has not returned %v after its context ended", patience) })
	defer late.Stop()
	return fn(ctx)
}

func (c *chaos) pause(most time.Duration) { time.Sleep(time.Duration(c.random.Int64N(int64(most)))) }

func (c *chaos) anyProcess() *servers.Server {
	return c.cluster.Processes[c.random.IntN(len(c.cluster.Processes))]
}

// kill is kill -9.
func kill(c *chaos) string {
	p := c.anyProcess()
	p.Kill(c.t)
	c.pause(time.Second)
	p.Start(c.t)
	return "kills"
}

// stop is SIGSTOP, often for longer than clients wait, sometimes for longer than a transaction may last.
func stop(c *chaos) string {
	p := c.anyProcess()
	p.Pause(c.t)
	c.pause([]time.Duration{500 * time.Millisecond, 2 * time.Second, 8 * time.Second}[c.random.IntN(3)])
	p.Resume(c.t)
	return "stops"
}

// changeCoordinators makes one process the coordinator, or all.
func changeCoordinators(c *chaos) string {
	processes := []*servers.Server{c.anyProcess()}
	if c.random.IntN(2) == 0 {
		processes = c.cluster.Processes
	}
	command := "coordinators"
	for _, p := range processes {
		command += " " + p.Addr
	}
	c.administer(command)
	return "changes of coordinators"
}

// exclude moves the data away from a process while clients read and write, and lets the process take part again.
func exclude(c *chaos) string {
	p := c.anyProcess()
	_, _ = c.cluster.Run(c.t.Context(), "exclude "+p.Addr) // it may take longer than the command waits
	c.administer("include all")
	return "exclusions"
}

// administer runs a command of fdbcli, again until it succeeds: the cluster may be busy recovering.
func (c *chaos) administer(command string) {
	for end := time.Now().Add(patience); ; {
		_, err := c.cluster.Run(c.t.Context(), command)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			c.t.Fatal(err)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns a value, or fails the test with the error.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// name is the name of a client.
func name(client int) string { return fmt.Sprint("client-", client) }
