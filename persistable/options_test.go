// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
	tenancy "github.com/kazahana-db/kazahana/persistable/tenants"
)

// optionLog is an engine that notes the options of each transaction.
type optionLog struct {
	kv.Database
	mu  sync.Mutex
	all []*optionLogTx
}

func (l *optionLog) Begin() (kv.Transaction, error) {
	tx, err := l.Database.Begin()
	if err != nil {
		return nil, err
	}
	return l.add(tx), nil
}

func (l *optionLog) add(tx kv.Transaction) *optionLogTx {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &optionLogTx{Transaction: tx}
	l.all = append(l.all, t)
	return t
}

func (l *optionLog) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := l.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

func (l *optionLog) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := l.Begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

// take returns the different options of the transactions since the last call, but those at a read
// version that another transaction has given.
func (l *optionLog) take() (texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.all {
		text := fmt.Sprintf("%v %s", t.options.Priority, strings.Join(t.options.Tags, "+"))
		if !t.pinned && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	l.all = nil
	return texts
}

type optionLogTx struct {
	kv.Transaction
	options kv.TransactionOptions
	pinned  bool
}

func (t *optionLogTx) SetOptions(o kv.TransactionOptions) error {
	t.options = t.options.With(o)
	return t.Transaction.SetOptions(o)
}

func (t *optionLogTx) SetReadVersion(v int64) {
	t.pinned = true
	t.Transaction.SetReadVersion(v)
}

// TestOptionsReachOperations looks at the options with which operations begin their
// transactions.
func TestOptionsReachOperations(t *testing.T) {
	const own, batch = "the operation's own ", "batch "
	log := &optionLog{Database: enginetest.Open(t)}
	db := openWith(t, log, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	o := NewOrder(Order{TenantID: "t", Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})
	var many []*Order
	for i := range 300 {
		many = append(many, &Order{ID: idgen.ID(i + 1000), TenantID: "t", Number: fmt.Sprint("m", i), Status: Paid, CreatedAt: day0})
	}
	o.ID = idgen.ID(1)
	set := tenancy.Of(db, "tenants")
	for _, c := range []struct {
		name string
		do   func(s *OrderStore) error
		want []string // nil: own alone
	}{
		{"Create", func(s *OrderStore) error { return s.Create(ctx, o) }, nil},
		{"Save", func(s *OrderStore) error { return s.Save(ctx, o) }, nil},
		{"Get", func(s *OrderStore) error { _, err := s.Get(ctx, o.ID); return err }, nil},
		{"ByNumber", func(s *OrderStore) error { _, err := s.ByNumber(ctx, "1"); return err }, nil},
		{"Slice", func(s *OrderStore) error { _, err := s.ByStatus(Paid).Slice(ctx); return err }, nil},
		{"Across", func(s *OrderStore) (last error) {
			for _, err := range persistable.Across(s.Scan(), "").All(ctx) {
				last = err
			}
			return last
		}, nil},
		{"CreateMany", func(s *OrderStore) error { return s.CreateMany(ctx, many, persistable.BatchOptions{}) }, []string{own, batch}},
		{"SaveMany of few", func(s *OrderStore) error { return s.SaveMany(ctx, many[:2], persistable.BatchOptions{}) }, nil},
		{"Verify", func(s *OrderStore) error {
			_, err := s.Indexes().Verify(ctx, persistable.VerifyOptions{Repair: true})
			return err
		}, []string{batch}},
		{"Build", func(s *OrderStore) error { return s.Indexes().Build(ctx, persistable.BuildOptions{}) }, []string{batch}},
		{"Rebuild", func(s *OrderStore) error {
			return s.Indexes().Rebuild(ctx, "Order_Status", persistable.BuildOptions{})
		}, []string{batch}},
		{"tenants.Copy", func(*OrderStore) error { _, err := set.Copy(ctx, "t", "u", tenancy.CopyOptions{}); return err }, []string{batch}},
		{"tenants.Delete", func(*OrderStore) error { return set.Delete(ctx, "u") }, []string{batch}},
		{"DeleteWhere", func(s *OrderStore) error {
			_, err := s.DeleteWhere(ctx, s.Scan().Limit(2), persistable.BatchOptions{Records: 1})
			return err
		}, []string{own, batch}},
		{"RemoveDirectory", func(*OrderStore) error { return db.RemoveDirectory(ctx, "tenants", "t") }, []string{batch}},
	} {
		log.take()
		check(t, c.do(OrderStoreOf(db, "t")))
		want := c.want
		if want == nil {
			want = []string{own}
		}
		if got := log.take(); !slices.Equal(got, want) {
			t.Errorf("%s: transactions of %q, want %q", c.name, got, want)
		}
	}
}

// TestWith gives options to a DB and to a store, and shares transactions between them.
func TestWith(t *testing.T) {
	log := &optionLog{Database: enginetest.Open(t)}
	tag := func(path []string) string { return strings.ToUpper(path[1]) }
	db := openWith(t, log, persistable.Options{IDs: persistable.IDOptions{Off: true}, TagOf: tag})
	loud := kv.TransactionOptions{Priority: kv.PriorityDefault, Tags: []string{"loud"}}
	plain, ofDB, ofStore := OrderStoreOf(db, "t"), OrderStoreOf(db.With(loud), "t"), OrderStoreOf(db, "t").With(loud)
	get := func(s *OrderStore) error { _, err := s.Scan().Slice(ctx); return err }
	build := func(s *OrderStore) error { return s.Indexes().Build(ctx, persistable.BuildOptions{}) }
	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"a plain store", func() error { return get(plain) }, "the operation's own T"},
		{"a store of DB.With", func() error { return get(ofDB) }, "default T+loud"},
		{"Store.With", func() error { return get(ofStore) }, "default T+loud"},
		{"a build that is told", func() error { return build(ofStore) }, "default T+loud"},
		{"a build that is not", func() error { return build(plain) }, "batch T"},
		{"DB.Transact with a store of another DB", func() error {
			return db.With(loud).Transact(ctx, func(tx persistable.Tx) error { return get(plain.In(tx)) })
		}, "default loud"},
		{"DB.Transact with a store that has options", func() error {
			return db.Transact(ctx, func(tx persistable.Tx) error { return get(ofStore.In(tx)) })
		}, "the operation's own "},
		{"Maintenance", func() error {
			return db.Maintenance().ReadTransact(ctx, func(tx persistable.Tx) error { return get(plain.In(tx)) })
		}, "batch "},
	} {
		log.take()
		check(t, c.do())
		if got := log.take(); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: transactions of %q, want %q", c.name, got, c.want)
		}
	}
	fenced := OrderStoreOf(db.Under(leasefdb.Fence{}), "t")
	err := db.Transact(ctx, func(tx persistable.Tx) error { return get(fenced.In(tx)) })
	if err == nil || !strings.Contains(err.Error(), "different databases") {
		t.Errorf("a store under other fences: %v", err)
	}
}

// TestWrongOptions gives options that no transaction can have.
func TestWrongOptions(t *testing.T) {
	long := strings.Repeat("x", kv.MaxTagSize+1)
	engine := enginetest.Open(t)
	db := open(t, engine)
	s := OrderStoreOf(db.With(kv.TransactionOptions{Tags: []string{long}}), "t")
	if _, err := s.Get(ctx, idgen.ID(1)); err == nil || !strings.Contains(err.Error(), "17 bytes") {
		t.Errorf("Get = %v", err)
	}
	tagged := openWith(t, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}, TagOf: func([]string) string { return long }})
	var wrong *persistable.DirectoryError
	if _, err := OrderStoreOf(tagged, "t").Get(ctx, idgen.ID(1)); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "TagOf") {
		t.Errorf("Get = %v, want a DirectoryError about TagOf", err)
	}
}

// outcomeTracer is a tracer that names transactions, and keeps the last outcome.
type outcomeTracer struct{ last persistable.Outcome }

func (r *outcomeTracer) Begin(ctx context.Context, op persistable.Operation) (context.Context, func(persistable.Outcome)) {
	return persistable.WithIdentifier(ctx, "trace-1"), func(o persistable.Outcome) { r.last = o }
}

// TestThrottledAndNamed ends attempts as a cluster does that limits a tag, and looks at
// the names of the transactions.
func TestThrottledAndNamed(t *testing.T) {
	log, tracer := &optionLog{Database: enginetest.Open(t)}, &outcomeTracer{}
	db := openWith(t, log, persistable.Options{IDs: persistable.IDOptions{Off: true}, Tracer: tracer}).With(kv.TransactionOptions{Identifier: "job"})
	for name, run := range map[string]func(func(persistable.Tx) error) error{
		"Transact":     func(fn func(persistable.Tx) error) error { return db.Transact(ctx, fn) },
		"ReadTransact": func(fn func(persistable.Tx) error) error { return db.ReadTransact(ctx, fn) },
	} {
		log.take()
		errs := []error{kv.NewError(kv.CodeTagThrottled, ""), kv.NewError(kv.CodeProxyTagThrottled, ""), nil}
		check(t, run(func(persistable.Tx) error {
			err := errs[0]
			errs = errs[1:]
			return err
		}))
		if o := tracer.last; o.Attempts != 3 || o.Throttled != 2 || o.Conflicts != 0 {
			t.Errorf("%s: %d attempts, %d throttled, %d conflicts, want 3, 2 and none", name, o.Attempts, o.Throttled, o.Conflicts)
		}
		log.mu.Lock()
		if id := log.all[0].options.Identifier; id != "job/trace-1" {
			t.Errorf("%s: a transaction named %q", name, id)
		}
		log.mu.Unlock()
	}
}
