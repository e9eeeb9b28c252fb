// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/measure"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// logTracer notes the operations that end.
type logTracer struct {
	mu    sync.Mutex
	ended []endedOperation
}

type endedOperation struct {
	persistable.Operation
	persistable.Outcome
	within string // the operation in whose context it began
}

type withinKey struct{}

// Begin implements [persistable.Tracer].
func (l *logTracer) Begin(ctx context.Context, op persistable.Operation) (context.Context, func(persistable.Outcome)) {
	within, _ := ctx.Value(withinKey{}).(string)
	return context.WithValue(ctx, withinKey{}, op.Name), func(o persistable.Outcome) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ended = append(l.ended, endedOperation{op, o, within})
	}
}

// take returns what has ended since the last call, in short.
func (l *logTracer) take() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.ended {
		text := fmt.Sprintf("%s %s %s: %d attempts, %d rounds, %d pairs, %d writes", e.Name, e.Operation.Type, e.Index, e.Attempts, e.Rounds, e.Pairs, e.Writes)
		if e.within != "" {
			text = e.within + " > " + text
		}
		if e.Err != nil {
			text += ", failed"
		}
		all = append(all, text)
	}
	l.ended = nil
	return all
}

// last returns the operation that ended last.
func (l *logTracer) last() endedOperation { return l.ended[len(l.ended)-1] }

func openTraced(t *testing.T) (*persistable.DB, *logTracer) {
	t.Helper()
	tracer := &logTracer{}
	return openWith(t, enginetest.Open(t), persistable.Options{Tracer: tracer}), tracer
}

// TestTracer: the tracer is told of each operation once, with what it cost; those of a
// function's transaction are within it.
func TestTracer(t *testing.T) {
	db, tracer := openTraced(t)
	s := OrderStoreOf(db, "t")
	o := NewOrder(Order{TenantID: "t", Number: "1", Status: Paid})
	other := NewOrder(Order{TenantID: "t", Number: "2"})
	check(t, s.Create(ctx, o))
	tracer.take() // it has also created the directory
	get := func() error { return second(s.Get(ctx, o.ID)) }
	steps := []struct {
		run  func() error
		want []string
	}{
		{get, []string{"Get Order : 1 attempts, 1 rounds, 1 pairs, 0 writes"}},
		{func() error { return second(s.ByNumber(ctx, "1")) }, []string{"GetUnique Order Order_Number: 1 attempts, 2 rounds, 2 pairs, 0 writes"}},
		{func() error { return s.Save(ctx, o) }, []string{"Save Order : 1 attempts, 1 rounds, 2 pairs, 0 writes"}},
		{func() error { return s.Create(ctx, o) }, []string{"Create Order : 1 attempts, 1 rounds, 1 pairs, 0 writes, failed"}},
		{
			func() error { return s.Update(ctx, o.ID, func(o *Order) error { o.Amount++; return nil }) },
			[]string{"Update Order : 1 attempts, 1 rounds, 1 pairs, 1 writes"},
		},
		{
			func() error { return s.SaveMany(ctx, []*Order{o}, persistable.BatchOptions{}) },
			[]string{"SaveMany Order : 1 attempts, 1 rounds, 2 pairs, 1 writes"},
		},
		{func() error {
			return second(persistable.CreateFrom(ctx, &s.Store, func(func(*Order, error) bool) {}, persistable.BatchOptions{}))
		}, []string{"CreateMany Order : 0 attempts, 0 rounds, 0 pairs, 0 writes"}},
		{
			func() error {
				return second(s.DeleteWhere(ctx, s.ByStatus(Shipped), persistable.BatchOptions{Records: 5}))
			},
			[]string{"DeleteWhere Order : 1 attempts, 1 rounds, 0 pairs, 0 writes"},
		},
		{func() error { return s.Create(ctx, other) }, []string{"Create Order : 1 attempts, 1 rounds, 0 pairs, 4 writes"}},
		{func() error { return second(s.Exists(ctx, o.ID)) }, []string{"Exists Order : 1 attempts, 1 rounds, 1 pairs, 0 writes"}},
		{func() error { return second(s.GetMany(ctx, []idgen.ID{o.ID, other.ID})) }, []string{"GetMany Order : 1 attempts, 1 rounds, 2 pairs, 0 writes"}},
		{func() error { return second(s.ByStatus(Paid).Slice(ctx)) }, []string{"Slice Order Order_Status: 1 attempts, 2 rounds, 2 pairs, 0 writes"}},
		{func() error { return second(s.ByStatus(Paid).First(ctx)) }, []string{"First Order Order_Status: 1 attempts, 2 rounds, 2 pairs, 0 writes"}},
		{func() error { return second(s.ByStatus(Paid).Count(ctx)) }, []string{"Count Order Order_Status: 1 attempts, 1 rounds, 1 pairs, 0 writes"}},
		{func() error { return second(s.Scan().Page(ctx, "")) }, []string{"Page Order : 1 attempts, 1 rounds, 2 pairs, 0 writes"}},
		{func() error {
			for _, err := range s.Scan().All(ctx) {
				return err
			}
			return nil
		}, []string{"All Order : 1 attempts, 1 rounds, 2 pairs, 0 writes"}},
		{func() error { return s.Delete(ctx, other.ID) }, []string{"Delete Order : 1 attempts, 1 rounds, 1 pairs, 4 writes"}},
		{func() error {
			return db.Transact(ctx, func(tx persistable.Tx) error {
				return errors.Join(second(s.In(tx).Get(ctx, o.ID)), s.In(tx).Delete(ctx, o.ID))
			})
		}, []string{
			"Transact > Get Order : 0 attempts, 1 rounds, 1 pairs, 0 writes",
			"Transact > Delete Order : 0 attempts, 1 rounds, 1 pairs, 4 writes",
			"Transact  : 1 attempts, 2 rounds, 2 pairs, 4 writes",
		}},
		{func() error {
			return db.ReadTransact(ctx, func(tx persistable.Tx) error { return second(s.In(tx).Scan().Count(ctx)) })
		}, []string{"ReadTransact > Count Order : 0 attempts, 1 rounds, 0 pairs, 0 writes", "ReadTransact  : 1 attempts, 1 rounds, 0 pairs, 0 writes"}},
		{get, []string{"Get Order : 1 attempts, 1 rounds, 0 pairs, 0 writes, failed"}},
	}
	for _, step := range steps {
		_ = step.run()
		if diff := cmp.Diff(step.want, tracer.take()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestCauseOfBoundOperation: an operation of a transaction ends with the cause of its own
// context, and not with what ends that of the transaction.
func TestCauseOfBoundOperation(t *testing.T) {
	db, _ := openTraced(t)
	s := OrderStoreOf(db, "t")
	outer, cancel := context.WithCancel(ctx)
	defer cancel()
	own, end := context.WithCancelCause(ctx)
	end(errStop)
	for _, transact := range []transactFunc{db.Transact, db.ReadTransact} {
		check(t, transact(outer, func(tx persistable.Tx) error {
			if _, err := s.In(tx).Get(own, 1); !errors.Is(err, errStop) {
				t.Errorf("Get ends with %v", err)
			}
			return nil
		}))
	}
}

// conflictIn runs a transaction whose first attempt conflicts with what between writes, and
// returns what the tracer is told.
func conflictIn(t *testing.T, db *persistable.DB, tracer *logTracer, read func(tx persistable.Tx) error, between func() error) endedOperation {
	t.Helper()
	attempts := 0
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		if err := read(tx); err != nil {
			return err
		}
		tx.KV().Set([]byte("zzz"), nil)
		if attempts++; attempts > 1 {
			return nil
		}
		return between()
	}))
	return tracer.last()
}

// TestConflictsAreExplained: a conflict names type, index, tenant and value of what changed.
func TestConflictsAreExplained(t *testing.T) {
	db, tracer := openTraced(t)
	s := OrderStoreOf(db, "t")
	o := NewOrder(Order{TenantID: "t", Number: "1", Status: Paid})
	check(t, s.Create(ctx, o))
	other := persistable.OwnTransaction(ctx)
	next := func(number string) func() error {
		return func() error { return s.Create(other, NewOrder(Order{TenantID: "t", Number: number, Status: Paid})) }
	}
	for name, c := range map[string]struct {
		read    func(tx persistable.Tx) error
		between func() error
		want    []string
	}{
		"a record": {
			func(tx persistable.Tx) error { return second(s.In(tx).Get(ctx, o.ID)) },
			func() error { o.Amount++; return s.Save(other, o) },
			[]string{fmt.Sprintf("the record %v of Order in tenants/t/orders", o.ID)},
		},
		"an absent unique value": {
			func(tx persistable.Tx) error { _ = second(s.In(tx).ByNumber(ctx, "2")); return nil }, next("2"),
			[]string{`the index Order_Number, Number = "2", of Order in tenants/t/orders`},
		},
		"a range of an index": {
			func(tx persistable.Tx) error { return second(s.In(tx).ByStatus(Paid).Count(ctx)) }, next("3"),
			[]string{"the index Order_Status, Status = 1, of Order in tenants/t/orders"},
		},
		"all of an index": {
			func(tx persistable.Tx) error { return second(s.In(tx).OrderedByNumber().Count(ctx)) }, next("4"),
			[]string{"the index Order_Number of Order in tenants/t/orders"},
		},
		"all records": {
			func(tx persistable.Tx) error { return second(s.In(tx).Scan().Count(ctx)) }, next("5"),
			[]string{"records of Order in tenants/t/orders"},
		},
		"keys of the program": {
			func(tx persistable.Tx) error { return second(tx.KV().Get([]byte("\x02own\x00")).Get(ctx)) },
			func() error {
				return db.Engine().Transact(ctx, func(tx kv.Transaction) error { tx.Set([]byte("\x02own\x00"), []byte("x")); return nil })
			},
			[]string{`keys from ("own") to ("own", nil)`},
		},
	} {
		got := conflictIn(t, db, tracer, c.read, c.between)
		var causes []string
		for _, one := range got.Causes {
			causes = append(causes, one.String())
		}
		if diff := cmp.Diff(c.want, causes); diff != "" || got.Name != "Transact" || got.Conflicts != 1 || got.Attempts != 2 {
			t.Errorf("%s: %s %d conflicts in %d attempts (-want +got):\n%s", name, got.Name, got.Conflicts, got.Attempts, diff)
		}
	}
}

// TestConflictError: a transaction that gives up says what others changed.
func TestConflictError(t *testing.T) {
	db := openWith(t, enginetest.Open(t), persistable.Options{ExplainConflicts: true})
	s := OrderStoreOf(db, "t")
	o := NewOrder(Order{TenantID: "t", Number: "1"})
	check(t, s.Create(ctx, o))
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		if err := tx.KV().SetOption(kv.OptionRetryLimit, 0); err != nil {
			return err
		}
		read, err := s.In(tx).Get(ctx, o.ID)
		if err != nil {
			return err
		}
		//persistvet:ignore retryeffect the retry limit allows one attempt
		o.Amount++
		if err := s.Save(persistable.OwnTransaction(ctx), o); err != nil { // it conflicts with the transaction
			return err
		}
		read.Amount = -1
		return s.In(tx).Save(ctx, read)
	})
	e := wantAs[*persistable.ConflictError](t, err)
	if len(e.Conflicts) != 1 || e.Conflicts[0].ID != o.ID || kv.CodeOf(err) != kv.CodeNotCommitted {
		t.Errorf("got %v, %+v", err, e.Conflicts)
	}
	if want := fmt.Sprintf("another transaction changed the record %v of Order in tenants/t/orders: ", o.ID); !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// fakeTracer notes what it is told.
type fakeTracer struct {
	name string
	log  *[]string
}

type nameKey struct{}

func (f fakeTracer) Begin(ctx context.Context, op persistable.Operation) (context.Context, func(persistable.Outcome)) {
	*f.log = append(*f.log, fmt.Sprint(f.name, " begins ", op.Name, " within ", ctx.Value(nameKey{})))
	return context.WithValue(ctx, nameKey{}, f.name), func(o persistable.Outcome) { *f.log = append(*f.log, fmt.Sprint(f.name, " ends: ", o.Err)) }
}

func TestJoin(t *testing.T) {
	if persistable.JoinTracers() != nil || persistable.JoinTracers(nil, nil) != nil {
		t.Error("joining nothing is a tracer")
	}
	var log []string
	one := fakeTracer{"one", &log}
	if got := persistable.JoinTracers(nil, one); got != persistable.Tracer(one) {
		t.Errorf("joining one: %v", got)
	}
	ctx, end := persistable.JoinTracers(one, nil, fakeTracer{"two", &log}).Begin(t.Context(), persistable.Operation{Name: "Get"})
	end(persistable.Outcome{Err: errors.New("lost")})
	want := []string{"one begins Get within <nil>", "two begins Get within one", "two ends: lost", "one ends: lost"}
	if !slices.Equal(log, want) || ctx.Value(nameKey{}) != "two" {
		t.Errorf("got %q, the inner context is that of %v", log, ctx.Value(nameKey{}))
	}
}

func TestLogSlow(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	tracer := persistable.LogSlow(log, time.Second)
	end := func(op persistable.Operation, o persistable.Outcome) {
		_, end := tracer.Begin(t.Context(), op)
		end(o)
	}
	end(persistable.Operation{Name: "Get", Type: "Order"}, persistable.Outcome{Time: time.Second - 1})
	end(persistable.Operation{Name: "Get", Type: "Order", Bound: true}, persistable.Outcome{Time: time.Minute})
	if out.Len() > 0 {
		t.Errorf("logged %s", out.String())
	}
	end(persistable.Operation{Name: "Page", Type: "Order", Index: "Order_Status", Path: []string{"tenants", "a"}}, persistable.Outcome{
		Time: time.Second, Attempts: 3, Conflicts: 2, Throttled: 1, Err: errors.New("lost"),
		Usage: measure.Usage{Counts: measure.Counts{Rounds: 4, Writes: 5}, Pairs: 6, BytesRead: 7, BytesWritten: 8},
	})
	want := `level=WARN msg="slow operation" operation=Page type=Order index=Order_Status directory=tenants/a took=1s attempts=3 conflicts=2 throttled=1 ` +
		`rounds=4 "keys read"=6 "bytes read"=7 writes=5 "bytes written"=8 error=lost` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
}
