// SPDX-License-Identifier: Apache-2.0

package protoactor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
	"github.com/kazahana-db/kazahana/placement/protoactor"
	"github.com/kazahana-db/kazahana/tuple"
)

// The kinds of the tests. Only some members have the second.
const (
	accountKind = "account"
	auditKind   = "audit"
)

// The operations of an account that do not count.
const (
	stopOp  = "stop"  // it stops itself
	panicOp = "panic" // it panics
	lateOp  = "late"  // it writes once its activation has ended
	cutOp   = "cut"   // its context ends during its commit: it is stopped, since it does not know the outcome
)

// Answer is the answer of an account to an operation.
type Answer struct {
	Member string // that had the actor
	Epoch  int64
	Count  int64 // of the operations so far
	Err    string
}

// account counts operations, each once, under the fence of its activation, and records the
// epoch of each.
type account struct {
	db     kv.Database
	member string
}

// Receive implements [actor.Actor].
func (c *account) Receive(ctx actor.Context) {
	op, ok := ctx.Message().(*wrapperspb.StringValue)
	if !ok {
		return
	}
	a := protoactor.ActivationOf(ctx)
	switch op.Value {
	case stopOp:
		ctx.Stop(ctx.Self())
	case panicOp:
		panic("an actor that panics")
	case lateOp:
		if err := note(c.db, pack("late", a.Key().ID)); err != nil {
			panic(err)
		}
		<-a.Context().Done()
	}
	tctx := context.Background()
	if op.Value == cutOp {
		var cancel context.CancelFunc
		tctx, cancel = context.WithCancel(tctx)
		cut <- nil // it has begun
		cut <- c.db.(*enginetest.Lossy).Interrupt(cancel)
	}
	count, err := c.apply(tctx, a, op.Value)
	ctx.Respond(encode(Answer{Member: c.member, Epoch: a.Epoch(), Count: count, Err: text(err)}))
}

// cut is told of a cutOp: that it has begun, and then what commits its transaction.
var cut = make(chan func() error)

func (c *account) apply(ctx context.Context, a *protoactor.Activation, op string) (count int64, err error) {
	id := a.Key().ID
	err = a.Fence().Under(c.db).Transact(ctx, func(tx kv.Transaction) error {
		var done bool
		count, done, err = readCount(tx, id, op)
		if err != nil || done {
			return err
		}
		count++
		tx.Set(pack("count", id), packed(count))
		tx.Set(pack("op", id, op), nil)
		tx.Set(pack("epoch", id, count), packed(a.Epoch()))
		return nil
	})
	return count, err
}

// note sets a key.
func note(db kv.Database, key []byte) error {
	return db.Transact(context.Background(), func(tx kv.Transaction) error {
		tx.Set(key, nil)
		return nil
	})
}

// noted reports whether a key is set.
func noted(db kv.Database, key []byte) (bool, error) {
	ctx := context.Background()
	value, err := kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]byte, error) { return tx.Get(key).Get(ctx) })
	return value != nil, err
}

func readCount(tx kv.ReadTransaction, id, op string) (count int64, done bool, err error) {
	counted, operated := tx.Get(pack("count", id)), tx.Get(pack("op", id, op))
	value, err := counted.Get(context.Background())
	if err != nil {
		return 0, false, err
	}
	if value != nil {
		t, err := tuple.Unpack(value)
		if err != nil {
			return 0, false, err
		}
		count = t[0].(int64)
	}
	marker, err := operated.Get(context.Background())
	return count, marker != nil, err
}

func pack(what string, id ...any) []byte {
	return append([]byte("accounts/"), packed(append([]any{what}, id...)...)...)
}

func packed(elements ...any) []byte {
	b, err := tuple.Tuple(elements).Pack()
	if err != nil {
		panic(err)
	}
	return b
}

func encode(a Answer) *wrapperspb.StringValue {
	value, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return wrapperspb.String(string(value))
}

func decode(response any) (a Answer, err error) {
	value, ok := response.(*wrapperspb.StringValue)
	if !ok {
		return a, fmt.Errorf("the response is a %T", response)
	}
	if err := json.Unmarshal([]byte(value.Value), &a); err != nil {
		return a, err
	}
	if a.Err != "" {
		return a, errors.New(a.Err)
	}
	return a, nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// newCluster returns a cluster that is not started, of the kinds of tests.
func newCluster(node *protoactor.Node, provider cluster.ClusterProvider, db kv.Database, name string, kinds ...string) *cluster.Cluster {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
	var all []*cluster.Kind
	for _, kind := range kinds {
		all = append(all, cluster.NewKind(kind, actor.PropsFromProducer(func() actor.Actor { return &account{db, name} })))
	}
	config := cluster.Configure("test", provider, node.Lookup(), remote.Configure("127.0.0.1", 0), cluster.WithKinds(all...))
	config.GossipInterval = gossipInterval
	return cluster.New(system, config)
}

// isLost reports whether an error, as text, is that of a fence that is not in force.
func isLost(message string) bool {
	return strings.Contains(message, leasefdb.ErrLeaseLost.Error())
}

// homeOf returns the members and the claims of a cluster.
func homeOf(t *testing.T, db kv.Database) (*membership.Registry, *kvstore.Store) {
	t.Helper()
	members, err := membership.New(db, membership.Options{})
	if err != nil {
		t.Fatal(err)
	}
	home, err := kvstore.New(db, kvstore.Options{Members: members})
	if err != nil {
		t.Fatal(err)
	}
	return members, home
}

// rowOf returns the claim of an account.
func rowOf(t *testing.T, home *kvstore.Store, id string) kvstore.Row {
	t.Helper()
	row, err := home.Row(t.Context(), placement.Key{Kind: accountKind, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return row
}
