// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbchaos

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/persistable"
)

// The environment variables of a process that creates orders: the cluster's file, and the process's name.
const (
	clusterVariable = "KAZAHANA_CHAOS_CLUSTER"
	nameVariable    = "KAZAHANA_CHAOS_NAME"
)

// TestMain runs the tests, or is a process that creates orders.
func TestMain(m *testing.M) {
	if file := os.Getenv(clusterVariable); file != "" {
		log.Fatal(createOrders(file, os.Getenv(nameVariable)))
	}
	os.Exit(m.Run())
}

// createOrders creates one order after the other, and writes the number and the ID of each that was acknowledged. It
// returns the first error, and ends with the process that has started it.
func createOrders(file, name string) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until that process ends
		os.Exit(1)
	}()
	ctx := context.Background()
	engine, err := fdbkv.Open(file)
	if err != nil {
		return err
	}
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		return err
	}
	orders := bazaar.OrderStoreOf(db, processTenant)
	for i := 0; ; i++ {
		o := orders.New(bazaar.Order{TenantID: processTenant, Number: orderNumber(name, i), Country: "DE", Amount: 1})
		if err := orders.Create(ctx, o); err != nil {
			return err
		}
		fmt.Println(o.Number, o.ID)
	}
}

const processTenant = "t2"

func orderNumber(process string, i int) string { return fmt.Sprint(process, "/", i) }

// processes are processes that create orders until they are killed.
type processes struct {
	*chaos
	orders *bazaar.OrderStore

	mu    sync.Mutex
	n     int
	begun int
	last  map[string]int    // how many orders a process has acknowledged
	ids   map[string]string // by number
}

func newProcesses(c *chaos, db *persistable.DB) *processes {
	return &processes{chaos: c, orders: bazaar.OrderStoreOf(db, processTenant), last: map[string]int{}, ids: map[string]string{}}
}

func (p *processes) acknowledged() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

// longestLife is how long a process may create orders until it is killed.
const longestLife = 10 * time.Second

func (p *processes) work(ctx context.Context, _ int, random *rand.Rand) {
	for ctx.Err() == nil {
		life, kill := context.WithTimeout(ctx, time.Duration(random.Int64N(int64(longestLife))))
		p.runProcess(life)
		kill()
	}
}

// runProcess starts a process, and kills it when ctx ends.
func (p *processes) runProcess(ctx context.Context) {
	name := p.begin()
	var faults bytes.Buffer
	cmd := exec.CommandContext(ctx, os.Args[0]) // it ends by SIGKILL
	cmd.Env = append(os.Environ(), clusterVariable+"="+p.cluster.File, nameVariable+"="+name)
	cmd.Stderr = &faults
	out, err := cmd.StdoutPipe()
	if err == nil {
		_, err = cmd.StdinPipe() // its end is that of this process
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		if ctx.Err() == nil {
			p.t.Errorf("processes: %v", err)
		}
		return
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		p.note(name, strings.Fields(line))
	}
	if err := cmd.Wait(); ctx.Err() == nil {
		p.t.Errorf("processes: %s ended by itself: %v: %s", name, err, &faults)
	}
}

// begin returns the name of a process.
func (p *processes) begin() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	return fmt.Sprint("process-", p.begun)
}

// note notes an order that a process has acknowledged.
func (p *processes) note(process string, order []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(order) != 2 || order[0] != orderNumber(process, p.last[process]) {
		p.t.Errorf("processes: %s wrote %q after %d orders", process, order, p.last[process])
		return
	}
	p.ids[order[0]] = order[1]
	p.last[process]++
	p.n++
}

// check fails the test where an order that was acknowledged is not there as it was, one is there twice, or a process has
// left more than the order that it was creating when it was killed.
func (p *processes) check(ctx context.Context) {
	stored := map[string]string{}
	for o, err := range p.orders.Scan().All(ctx) {
		check(p.t, err)
		if other := stored[o.Number]; other != "" {
			p.t.Errorf("processes: the order %s is there as %s and %d", o.Number, other, o.ID)
		}
		stored[o.Number] = fmt.Sprint(o.ID)
	}
	for number, id := range p.ids {
		if stored[number] != id {
			p.t.Errorf("processes: the order %s was acknowledged as %s, and is %q", number, id, stored[number])
		}
		delete(stored, number)
	}
	for process, n := range p.last {
		delete(stored, orderNumber(process, n))
	}
	for i := range p.begun { // those that have acknowledged none
		delete(stored, orderNumber(fmt.Sprint("process-", i+1), 0))
	}
	if len(stored) > 0 {
		p.t.Errorf("processes: no process has created the orders %v", stored)
	}
	if report := must[persistable.Report](p.t)(p.orders.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(report.Faults) > 0 {
		p.t.Errorf("processes: faults: %v", report.Faults)
	}
	p.t.Logf("processes: %d were killed", p.begun)
}
