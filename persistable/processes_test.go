// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package persistable_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// prefixVariable makes TestIDProcess a process of TestUniqueAcrossProcesses.
const prefixVariable = "KAZAHANA_TEST_PREFIX"

// TestUniqueAcrossProcesses lets processes open one cluster at once, without any
// configuration, and create records. No id may come twice, or be a fallback.
func TestUniqueAcrossProcesses(t *testing.T) {
	engine, prefix := enginetest.OpenOwn(t, fdbkv.Options{})
	const processes = 4
	outputs := make([][]byte, processes)
	var group sync.WaitGroup
	for p := range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^TestIDProcess$")
		cmd.Env = append(os.Environ(), prefixVariable+"="+prefix)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		group.Go(func() {
			var err error
			if outputs[p], err = cmd.Output(); err != nil {
				t.Errorf("process %d: %v\n%s%s", p, err, outputs[p], stderr.Bytes())
			}
		})
	}
	group.Wait()
	seen, machines := map[idgen.ID]int{}, map[int]int{}
	for p, output := range outputs {
		for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
			id := idgen.ID(must[int64](t)(strconv.ParseInt(lines.Text(), 10, 64)))
			if other, again := seen[id]; again {
				t.Fatalf("processes %d and %d both made %d", other, p, id)
			}
			if id.IsFallback() {
				t.Fatalf("process %d made the fallback id %d", p, id)
			}
			seen[id] = p
			machines[id.MachineID()] = p
		}
	}
	t.Logf("%d ids of %d machines", len(seen), len(machines))
	orders := OrderStoreOf(open(t, enginetest.Below(engine, []byte(prefix))), "t")
	if n := must[int](t)(orders.Scan().Count(ctx)); n != len(seen) || n != processes*idsOfAProcess {
		t.Errorf("%d records of %d ids", n, len(seen))
	}
	sound(t, orders.Indexes().Verify)
}

const idsOfAProcess = 300

// TestIDProcess is one of the processes.
func TestIDProcess(t *testing.T) {
	prefix := os.Getenv(prefixVariable)
	if prefix == "" {
		t.Skip("TestUniqueAcrossProcesses runs it")
	}
	db := open(t, enginetest.Below(enginetest.OpenCluster(t, fdbkv.Options{}), []byte(prefix)))
	orders := OrderStoreOf(db, "t")
	var group sync.WaitGroup
	created := make(chan idgen.ID, idsOfAProcess)
	for g := range 10 {
		group.Go(func() {
			for i := range idsOfAProcess / 10 {
				o := orders.New(Order{Number: fmt.Sprint(os.Getpid(), "-", g, "-", i), Status: Pending, CreatedAt: day0, Amount: 1})
				if err := orders.Create(ctx, o); err != nil {
					t.Error(err)
					return
				}
				created <- o.ID
			}
		})
	}
	group.Wait()
	close(created)
	if t.Failed() {
		return
	}
	check(t, db.Close())
	for id := range created {
		fmt.Println(int64(id))
	}
	os.Exit(0) // without the word that ends the output of tests
}
