// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
)

// law is one statement of the contract and the check that fails if an engine
// breaks it.
type law struct {
	name  string
	check func(c *conformance)
}

// lawGroups is the whole suite.
var lawGroups = []struct {
	name string
	laws []law
}{
	{"isolation", isolationLaws},
	{"anomalies", anomalyLaws},
	{"conflicts", conflictLaws},
	{"conflicting keys", reportLaws},
	{"read your writes", overlayLaws},
	{"selectors", selectorLaws},
	{"ranges", rangeLaws},
	{"atomic operations", atomicLaws},
	{"versionstamps", versionstampLaws},
	{"watches", watchLaws},
	{"limits", limitLaws},
	{"sizes", sizeLaws},
	{"life cycle", lifecycleLaws},
	{"transact", transactLaws},
	{"contexts", contextLaws},
	{"closing", closingLaws},
	{"concurrency", concurrencyLaws},
}

// RunConformance checks the laws that the doc comments of package kv state,
// each in a subtest named after it. open must return a database of which
// nothing below \xff needs to be kept; it is called once for most laws
// together and once for each law that closes its database.
func RunConformance(t *testing.T, open func(testing.TB) kv.Database) {
	t.Helper()
	db := open(t)
	for _, group := range lawGroups {
		t.Run(group.name, func(t *testing.T) {
			for _, l := range group.laws {
				t.Run(l.name, func(t *testing.T) { checkLaw(t, l, db, open, lawTimeout) })
			}
		})
	}
}

// lawTimeout is how long the check of a law may take. What must happen soon,
// such as a watch firing, has as long.
const lawTimeout = 5 * time.Minute

// checkLaw checks a law on a database that it empties first.
func checkLaw(tb testing.TB, l law, db kv.Database, open func(testing.TB) kv.Database, limit time.Duration) {
	tb.Helper()
	c := newConformance(tb, db, open, limit)
	c.update(func(tx kv.Transaction) { tx.ClearRange(model.UserKeys()) })
	l.check(c)
}

func newConformance(tb testing.TB, db kv.Database, open func(testing.TB) kv.Database, limit time.Duration) *conformance {
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, errors.New("the law's check hangs"))
	tb.Cleanup(cancel)
	return &conformance{TB: tb, ctx: ctx, db: db, open: open}
}

// conformance is the check of one law under way, with the words that checks
// are written in.
type conformance struct {
	testing.TB
	ctx  context.Context
	db   kv.Database
	open func(testing.TB) kv.Database
}

// begin opens a transaction that is cancelled when the check ends.
func (c *conformance) begin() kv.Transaction {
	c.Helper()
	tx, err := c.db.Begin()
	if err != nil {
		c.Fatalf("Begin: %v", err)
	}
	c.Cleanup(tx.Cancel)
	return tx
}

// beginReading opens a transaction with a read version that is fixed now.
func (c *conformance) beginReading() kv.Transaction {
	c.Helper()
	tx := c.begin()
	c.version(tx)
	return tx
}

// update runs fn, which must be harmless to repeat, in a transaction of its own.
func (c *conformance) update(fn func(kv.Transaction)) {
	c.Helper()
	err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
		fn(tx)
		return nil
	})
	if err != nil {
		c.Fatalf("Transact: %v", err)
	}
}

// put writes pairs: key, value, key, value…
func (c *conformance) put(pairs ...string) {
	c.Helper()
	c.update(func(tx kv.Transaction) {
		for i := 0; i < len(pairs); i += 2 {
			tx.Set([]byte(pairs[i]), []byte(pairs[i+1]))
		}
	})
}

// get reads a key in a transaction.
func (c *conformance) get(tx kv.ReadTransaction, key string) string {
	c.Helper()
	value, err := tx.Get([]byte(key)).Get(c.ctx)
	if err != nil {
		c.Fatalf("Get(%q): %v", key, err)
	}
	if value == nil {
		return model.Absent
	}
	return string(value)
}

// version reads the read version.
func (c *conformance) version(tx kv.ReadTransaction) int64 {
	c.Helper()
	version, err := tx.GetReadVersion().Get(c.ctx)
	if err != nil {
		c.Fatalf("GetReadVersion: %v", err)
	}
	return version
}

// scan reads a range as "key=value" texts.
func (c *conformance) scan(tx kv.ReadTransaction, r kv.SelectorRange, o kv.RangeOptions) []string {
	c.Helper()
	pairs, err := tx.GetRange(r, o).Slice(c.ctx)
	if err != nil {
		c.Fatalf("GetRange(%v to %v, %+v): %v", r.Begin, r.End, o, err)
	}
	return model.Texts(pairs)
}

// contents are all pairs, read in a transaction of their own.
func (c *conformance) contents() []string {
	c.Helper()
	pairs, err := kv.ReadTransact(c.ctx, c.db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(model.UserKeys().Selectors(), kv.RangeOptions{}).Slice(c.ctx)
	})
	if err != nil {
		c.Fatalf("reading everything: %v", err)
	}
	return model.Texts(pairs)
}

// stored reads a key in a transaction of its own.
func (c *conformance) stored(key string) string {
	c.Helper()
	value, err := kv.ReadTransact(c.ctx, c.db, func(tx kv.ReadTransaction) ([]byte, error) {
		return tx.Get([]byte(key)).Get(c.ctx)
	})
	if err != nil {
		c.Fatalf("reading %q: %v", key, err)
	}
	if value == nil {
		return model.Absent
	}
	return string(value)
}

// wantContents compares all pairs.
func (c *conformance) wantContents(want ...string) {
	c.Helper()
	c.want("contents", c.contents(), want)
}

// want compares two values as they are printed.
func (c *conformance) want(what string, got, want any) {
	c.Helper()
	if g, w := fmt.Sprintf("%q", got), fmt.Sprintf("%q", want); g != w {
		c.Errorf("%s: got %s, want %s", what, g, w)
	}
}

// commit commits and expects success.
func (c *conformance) commit(tx kv.Transaction) {
	c.Helper()
	if err := tx.Commit(c.ctx); err != nil {
		c.Fatalf("Commit: %v", err)
	}
}

// wantCommit commits and expects a code; 0 is success.
func (c *conformance) wantCommit(tx kv.Transaction, code kv.Code) {
	c.Helper()
	c.wantCode("Commit", tx.Commit(c.ctx), code)
}

// wantCode expects an error with a code, or none if it is 0.
func (c *conformance) wantCode(what string, err error, code kv.Code) {
	c.Helper()
	switch {
	case code == 0 && err != nil:
		c.Errorf("%s: %v, want success", what, err)
	case code != 0 && kv.CodeOf(err) != code:
		c.Errorf("%s: %v, want code %d (%s)", what, err, int(code), code)
	}
}

// wantFuture waits for a future and expects a code.
func wantFuture[T any](c *conformance, what string, future kv.Future[T], code kv.Code) {
	c.Helper()
	_, err := future.Get(c.ctx)
	c.wantCode(what, err, code)
}

// soon waits for something that must happen.
func (c *conformance) soon(what string, ready <-chan struct{}) {
	c.Helper()
	select {
	case <-ready:
	case <-c.ctx.Done():
		c.Fatalf("%s did not happen: %v", what, context.Cause(c.ctx))
	}
}
