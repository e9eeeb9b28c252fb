// SPDX-License-Identifier: Apache-2.0

//go:build unix

package protoactor_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// world has the database, and the operations that were requested.
type world struct {
	t       *testing.T
	db      kv.Database
	address string

	mu    sync.Mutex
	asked map[string]int // operations, by account
}

// passivate waits until the idle accounts of a member have ended, except one that is used
// all the time, by a cached PID.
func (w *world) passivate(t *testing.T, m *process) {
	id := accountID(0)
	first, err := m.ask(Question{accountKind, id, "used", bound})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(bound); len(m.active(t)) > 1 || len(w.claims(t, m.name)) > 1; {
		used, err := m.ask(Question{accountKind, id, "used", bound})
		if err != nil || used.Epoch != first.Epoch {
			t.Fatalf("an account that is used: %+v, %v; want epoch %d", used, err, first.Epoch)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d accounts are active that were not used", len(m.active(t))-1)
		}
	}
}

// claims returns the accounts that a member has claimed.
func (w *world) claims(t *testing.T, name string) (ids []string) {
	t.Helper()
	_, home := homeOf(t, w.db)
	for i := range accounts {
		if row := rowOf(t, home, accountID(i)); row.Owner.Name == name {
			ids = append(ids, accountID(i))
		}
	}
	return ids
}

func newWorld(t *testing.T) *world {
	db := enginetest.Open(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- remote.Serve(ctx, listener, db) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return &world{t: t, db: db, address: listener.Addr().String(), asked: map[string]int{}}
}

func (w *world) start(c memberConfig) *process {
	c.Database, c.Duration = w.address, duration
	p := start(w.t, c)
	p.active(w.t) // which is answered once it has started
	return p
}

func (w *world) startAll() (a, b, c, client *process) {
	var all [4]*process
	var starting sync.WaitGroup
	for i, config := range []memberConfig{
		{Name: "a", Kinds: []string{accountKind}},
		{Name: "b", Kinds: []string{accountKind}},
		{Name: "c", Kinds: []string{accountKind, auditKind}},
		{Name: "client", Client: true},
	} {
		starting.Go(func() { all[i] = w.start(config) })
	}
	starting.Wait()
	if slices.Contains(all[:], nil) {
		w.t.FailNow()
	}
	return all[0], all[1], all[2], all[3]
}

func accountID(i int) string { return fmt.Sprintf("customer-%d", i) }

// askAll makes processes in turn send one request to each account, and repeats it until there
// is an answer.
func (w *world) askAll(t *testing.T, from ...*process) {
	t.Helper()
	var asking sync.WaitGroup
	deadline := time.Now().Add(bound)
	for i := range accounts {
		asking.Go(func() {
			if err := w.askOne(from[i%len(from)], accountID(i), deadline); err != nil {
				t.Errorf("%s asked %s: %v", from[i%len(from)].name, accountID(i), err)
			}
		})
	}
	asking.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func (w *world) askOne(from *process, id string, deadline time.Time) error {
	op := w.nextOp(id)
	for {
		_, err := from.ask(Question{accountKind, id, op, time.Second})
		if err == nil || !time.Now().Before(deadline) {
			return err
		}
	}
}

func (w *world) nextOp(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[id]++
	return fmt.Sprint(w.asked[id])
}

// activeOnce fails the test unless each account is active at exactly one of the members.
func (w *world) activeOnce(t *testing.T, members ...*process) {
	t.Helper()
	at := map[string][]string{}
	for _, m := range members {
		for key := range m.active(t) {
			at[key] = append(at[key], m.name)
		}
	}
	for i := range accounts {
		if names := at[accountKind+"/"+accountID(i)]; len(names) != 1 {
			t.Errorf("%s is active at %q", accountID(i), names)
		}
	}
}

func strayID(i int) string { return fmt.Sprintf("stray-%d", i) }

// claimBehind claims accounts for a member without its knowledge: as if the database had
// executed a claim late, and its reply had been lost.
func (w *world) claimBehind(t *testing.T, p *process) {
	ctx := t.Context()
	registry, home := homeOf(t, w.db)
	topology, err := registry.Topology(ctx, w.db)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(topology.Members, func(m placement.Member) bool { return m.Name == p.name })
	m := topology.Members[i]
	for i := range 10 {
		key := placement.Key{Kind: accountKind, ID: strayID(i)}
		if _, err := home.TryAcquire(ctx, core.TryAcquire{RequestID: 1, Key: key, Owner: m.Owner, Address: m.Address}); err != nil {
			t.Fatal(err)
		}
	}
}

// beginLate makes an account of a member begin an operation that waits until its activation
// has ended.
func (w *world) beginLate(t *testing.T, m *process) (id string, answers <-chan error) {
	keys := slices.Sorted(maps.Keys(m.active(t)))
	i := slices.IndexFunc(keys, func(key string) bool { return strings.HasPrefix(key, accountKind) })
	if i < 0 {
		t.Fatalf("no account is active at %s", m.name)
	}
	id = strings.TrimPrefix(keys[i], accountKind+"/")
	answered := make(chan error, 1)
	go func() {
		_, err := m.ask(Question{accountKind, id, lateOp, time.Minute})
		answered <- err
	}()
	for deadline := time.Now().Add(bound); ; {
		switch begun, err := noted(w.db, pack("late", id)); {
		case err != nil || time.Now().After(deadline):
			t.Fatalf("%s did not begin an operation: %v", id, err)
		case begun:
			return id, answered
		}
	}
}

// askUntilMoved sends requests until a member has some of the accounts: they move at their next
// lookup.
func (w *world) askUntilMoved(t *testing.T, to *process, from ...*process) {
	deadline := time.Now().Add(bound)
	for len(to.active(t)) == 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%s got no account", to.name)
		}
		w.askAll(t, append(from, to)...)
	}
}

// pause suspends a process, and waits until it stands still: until one of its threads takes
// the signal, the others go on.
func pause(t *testing.T, p *process) {
	t.Helper()
	signal(t, p, syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("%s does not stand still: %v, %v", p.name, status, err)
	}
}

func resume(t *testing.T, p *process) { signal(t, p, syscall.SIGCONT) }

func signal(t *testing.T, p *process, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%v of %s: %v", s, p.name, err)
	}
}

// ended waits until a node has ended, and returns why.
func ended(t *testing.T, p *process) (cause string) {
	t.Helper()
	if err := p.client.Call("Member.Ended", 0, &cause); err != nil {
		t.Fatal(err)
	}
	return cause
}

// checkAccounts compares the accounts with the operations, all of which were answered.
func (w *world) checkAccounts(t *testing.T) {
	for i := range accounts {
		id := accountID(i)
		epochs, err := w.epochs(id)
		if err != nil {
			t.Fatal(err)
		}
		if len(epochs) != w.asked[id] {
			t.Errorf("%s counts %d operations, of %d", id, len(epochs), w.asked[id])
		}
		if !slices.IsSorted(epochs) {
			t.Errorf("%s was written to under these epochs: %d", id, epochs)
		}
	}
}

// epochs returns the epochs under which the operations of an account were done.
func (w *world) epochs(id string) (epochs []int64, err error) {
	ctx := context.Background()
	all, ok := kv.PrefixEnd(pack("epoch", id))
	if !ok {
		return nil, errors.New("the prefix has no end")
	}
	rows, err := kv.ReadTransact(ctx, w.db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.KeyRange{Begin: pack("epoch", id), End: all}.Selectors(), kv.RangeOptions{}).Slice(ctx)
	})
	for _, row := range rows {
		value, err := tuple.Unpack(row.Value)
		if err != nil {
			return nil, err
		}
		epochs = append(epochs, value[0].(int64))
	}
	return epochs, err
}
