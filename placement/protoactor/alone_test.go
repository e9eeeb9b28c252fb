// SPDX-License-Identifier: Apache-2.0

package protoactor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/protoactor"
)

// lone is the only member of a cluster, in this process. The tests share it: under the race
// detector one process can have only one actor system with a server, because each start of
// protoactor-go's sets the logger of all of gRPC.
type lone struct {
	db      kv.Database
	node    *protoactor.Node
	cluster *cluster.Cluster
}

var alone = sync.OnceValue(func() lone {
	db, err := embedded.OpenMemory()
	if err != nil {
		panic(err)
	}
	node, err := protoactor.New(db, protoactor.Options{Name: "alone"})
	if err != nil {
		panic(err)
	}
	c := newCluster(node, node.Provider(), &enginetest.Lossy{Database: db}, "alone", accountKind)
	c.StartMember()
	return lone{db, node, c}
})

func (l lone) ask(id, op string) (Answer, error) {
	response, err := l.cluster.Request(id, accountKind, wrapperspb.String(op), cluster.WithTimeout(time.Minute))
	if err != nil {
		return Answer{}, err
	}
	return decode(response)
}

// TestStop: an actor that stops itself gives its claim back, and the next one has a greater
// epoch.
func TestStop(t *testing.T) {
	l := alone()
	_, home := homeOf(t, l.db)
	first, err := l.ask("stopping", "1")
	if err != nil {
		t.Fatal(err)
	}
	if row := rowOf(t, home, "stopping"); row.Owner != l.node.Owner() || row.Epoch != first.Epoch {
		t.Errorf("the claim of an actor that runs under epoch %d: %+v", first.Epoch, row)
	}
	if _, err := l.ask("stopping", stopOp); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !rowOf(t, home, "stopping").Free(); {
		if time.Now().After(deadline) {
			t.Fatalf("the claim of an actor that has stopped: %+v", rowOf(t, home, "stopping"))
		}
	}
	again, err := l.ask("stopping", "2")
	if err != nil || again.Epoch <= first.Epoch || again.Count != 3 {
		t.Errorf("the next actor: %+v, %v; want an epoch greater than %d and 3 operations", again, err, first.Epoch)
	}
}

// TestUnknownOutcome: an actor that does not know whether its transaction has committed handles no more messages, and the
// sender of a request that waits in its mailbox is told so. When the next one answers, the abandoned commit can land
// no more: what the next one has read stays true, although it writes nothing.
func TestUnknownOutcome(t *testing.T) {
	l := alone()
	first, err := l.ask("unsure", "1")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := l.node.Resolve(t.Context(), "unsure", accountKind)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := l.ask("unsure", cutOp)
		ended <- err
	}()
	<-cut
	waiting := l.cluster.ActorSystem.Root.RequestFuture(pid, wrapperspb.String("2"), time.Minute)
	land := <-cut
	if err := <-ended; err == nil {
		t.Error("the operation that was cut knows its outcome")
	}
	if answer, err := waiting.Result(); !errors.Is(err, actor.ErrDeadLetter) {
		t.Errorf("the request that waited: %v, %v; want a dead letter", answer, err)
	}
	next, err := l.ask("unsure", "1")
	if err != nil || next.Count != 1 {
		t.Errorf("the next actor: %+v, %v; want 1 operation", next, err)
	}
	if landed := land(); !kv.IsConflict(landed) || next.Epoch <= first.Epoch {
		t.Errorf("the commit that lands after the answer of epoch %d (before: %d): %v, want a conflict", next.Epoch, first.Epoch, landed)
	}
}

// TestPanic: an actor that panics is restarted under its activation.
func TestPanic(t *testing.T) {
	l := alone()
	first, err := l.ask("panicking", "1")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := l.node.Resolve(t.Context(), "panicking", accountKind)
	if err != nil {
		t.Fatal(err)
	}
	l.cluster.ActorSystem.Root.Send(pid, wrapperspb.String(panicOp))
	again, err := l.ask("panicking", "2")
	if err != nil || again.Epoch != first.Epoch {
		t.Errorf("%+v, %v; want epoch %d", again, err, first.Epoch)
	}
}

func TestConcurrentLookups(t *testing.T) {
	l := alone()
	found := make([]*actor.PID, 200)
	var looking sync.WaitGroup
	for i := range found {
		looking.Go(func() { found[i] = l.cluster.Get("popular", accountKind) })
	}
	looking.Wait()
	for i, pid := range found {
		if pid == nil || !pid.Equal(found[0]) {
			t.Fatalf("lookup %d found %v, the first %v", i, pid, found[0])
		}
	}
}

func TestBadLookups(t *testing.T) {
	l := alone()
	for _, id := range []string{"", "nul\x00", "\xff", strings.Repeat("x", placement.MaxID+1)} {
		if _, err := l.node.Resolve(t.Context(), id, accountKind); !errors.Is(err, placement.ErrInvalidKey) {
			t.Errorf("the identity %.20q: %v", id, err)
		}
		if pid := l.cluster.Get(id, accountKind); pid != nil {
			t.Errorf("the identity %.20q has %v", id, pid)
		}
	}
	if _, err := l.node.Resolve(t.Context(), "1", "unknown"); !errors.Is(err, placement.ErrNoMember) {
		t.Errorf("a kind that no member has: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.node.Resolve(ended, "1", accountKind); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestExplain checks the explanation of an actor's place.
func TestExplain(t *testing.T) {
	l := alone()
	answer, err := l.ask("explained", "1")
	if err != nil {
		t.Fatal(err)
	}
	e := l.node.Explain("explained", accountKind)
	if len(e.Candidates) != 1 || e.Candidates[0].Owner.Name != "alone" || e.Active == nil || e.Active.Epoch != answer.Epoch {
		t.Errorf("%+v, want the member alone and epoch %d", e, answer.Epoch)
	}
}

func TestActivationOfOthers(t *testing.T) {
	l := alone()
	found := make(chan *protoactor.Activation, 1)
	l.cluster.ActorSystem.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		if _, started := ctx.Message().(*actor.Started); started {
			found <- protoactor.ActivationOf(ctx)
		}
	}))
	if a := <-found; a != nil {
		t.Errorf("an actor that was not activated has %+v", a)
	}
}

func TestRefusals(t *testing.T) {
	db := alone().db
	node := func() *protoactor.Node {
		n, err := protoactor.New(db, protoactor.Options{Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	n := node()
	c := newCluster(n, n.Provider(), db, "-", accountKind)
	if err := n.Provider().StartMember(c); err == nil {
		t.Error("the provider without the lookup of its node was started")
	}
	n.Lookup().Setup(c, []string{"with.dot", ""}, false)
	if _, err := n.Resolve(t.Context(), "1", "with.dot"); err == nil || !strings.Contains(err.Error(), "with.dot") || !strings.Contains(err.Error(), "empty") {
		t.Errorf("a kind with a dot, and an empty one: %v", err)
	}
	if err := n.Provider().StartMember(c); err == nil {
		t.Error("a member with invalid kinds was started")
	}
	second := newCluster(n, n.Provider(), db, "-")
	n.Lookup().Setup(second, nil, false)
	if err := n.Provider().StartMember(second); err == nil {
		t.Error("a node became part of a second cluster")
	}
	for range 2 {
		n.Lookup().Shutdown()
	}
	closed := node()
	if err := closed.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := closed.Resolve(t.Context(), "1", accountKind); !errors.Is(err, protoactor.ErrClosed) {
		t.Errorf("a node that is closed: %v", err)
	}
}

func TestOptions(t *testing.T) {
	_, err := protoactor.New(alone().db, protoactor.Options{Duration: time.Millisecond, Timeout: -1, StartTimeout: -1, StopTimeout: -1, IdleAfter: -1})
	for _, field := range []string{"Duration", "Timeout", "StartTimeout", "StopTimeout", "IdleAfter"} {
		if err == nil || !strings.Contains(fmt.Sprint(err), field+" is") {
			t.Errorf("the fault of %s is not in: %v", field, err)
		}
	}
	if _, err := protoactor.New(nil, protoactor.Options{}); err == nil {
		t.Error("a node without a database was made")
	}
}
