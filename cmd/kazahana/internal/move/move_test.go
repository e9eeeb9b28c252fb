// SPDX-License-Identifier: Apache-2.0

package move

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// hundredYears is farther than the versions of any test's database are apart otherwise.
const hundredYears = int64(100*365*24*3600) * kv.VersionsPerSecond

// openEmpty returns an empty database.
func openEmpty(t testing.TB) *embedded.Database {
	t.Helper()
	db, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// openSeeded returns the database of package bazaar. Its versions are ahead of those of a new
// database, as those of a folder are on a new cluster.
func openSeeded(t testing.TB) *embedded.Database {
	t.Helper()
	db := openEmpty(t)
	if err := db.AdvanceVersion(t.Context(), hundredYears); err != nil {
		t.Fatal(err)
	}
	if err := bazaar.Seed(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}

// open opens the stores of a database.
func open(t testing.TB, engine kv.Database) *persistable.DB {
	t.Helper()
	db, err := persistable.Open(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// contents returns all pairs of a database, those of the system that a move writes included.
func contents(t testing.TB, db kv.Database) (all []kv.KeyValue) {
	t.Helper()
	err := transact(t.Context(), db, func(tx kv.Transaction) (err error) {
		all, err = tx.GetRange(userKeys().Selectors(), kv.RangeOptions{}).Slice(t.Context())
		for _, key := range []string{stateKey, databaseLockKey} {
			if value, err := tx.Get([]byte(key)).Get(t.Context()); err != nil || value != nil {
				all = append(all, kv.KeyValue{Key: []byte(key), Value: value})
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantSame(t testing.TB, from, to kv.Database) {
	t.Helper()
	if diff := cmp.Diff(contents(t, from), contents(t, to)); diff != "" {
		t.Errorf("the target is not the source (-source +target):\n%s", diff)
	}
}

func source(db kv.Database) End { return End{DB: db, Name: "source"} }
func target(db kv.Database) End { return End{DB: db, Name: "target"} }

// small makes many batches of a small database.
var small = Options{batch: 2000}

// TestMove moves a database to one with lower versions, and goes on there with records
// with versions and with a feed.
func TestMove(t *testing.T) {
	ctx := t.Context()
	from, to := openSeeded(t), openEmpty(t)
	orders := bazaar.OrderStoreOf(open(t, from), "tenant-1")
	var read, some []idgen.ID
	readSome := func(_ persistable.Tx, changes []persistable.Change[*bazaar.Order, idgen.ID]) error {
		some = nil
		for _, c := range changes {
			some = append(some, c.ID)
		}
		return nil
	}
	if _, err := orders.Feed().Consumer("mail").Limit(10).Next(ctx, readSome); err != nil {
		t.Fatal(err)
	}
	read = append(read, some...)
	result, err := Run(ctx, source(from), target(to), small)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, from, to)
	if !result.Advanced || result.Version <= hundredYears || result.Continued || result.Lock != "" {
		t.Errorf("the result is %+v", result)
	}

	moved := bazaar.OrderStoreOf(open(t, to), "tenant-1")
	first := result.Directories[slices.IndexFunc(result.Directories, func(d Directory) bool { return slices.Equal(d.Path, []string{"tenants", "tenant-1", "orders"}) })]
	if first.Pairs < 24 || first.Bytes < 24*10 || len(first.Checksum) != 64 {
		t.Errorf("the orders are %+v", first)
	}
	last, err := moved.OrderedByNumber().Reverse().First(ctx)
	if err != nil {
		t.Fatal(err)
	}
	was := last.Version
	last.Amount++
	if err := moved.SaveIfVersion(ctx, was, last); err != nil {
		t.Fatal(err)
	}
	for n := 1; n > 0; read = append(read, some...) {
		some = nil
		if n, err = moved.Feed().Consumer("mail").Next(ctx, readSome); err != nil {
			t.Fatalf("the feed does not go on: %v", err)
		}
	}
	if len(read) != 24 || read[23] != last.ID {
		t.Errorf("the consumer has read %v, and %v was changed last", read, last.ID)
	}
	if last, err = moved.Get(ctx, last.ID); err != nil || bytes.Compare(last.Version[:], was[:]) <= 0 {
		t.Errorf("a later change has the version %v, after %v (%v)", last.Version, was, err)
	}
}

// TestFolder moves a folder that is open for reading only, and nothing in it changes.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	from, err := embedded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(bazaar.Seed(t.Context(), from), from.Close()); err != nil {
		t.Fatal(err)
	}
	if from, err = embedded.Open(dir, embedded.Options{ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	to := openEmpty(t)
	if _, err := Run(t.Context(), source(from), target(to), small); err != nil {
		t.Error(err)
	}
	wantSame(t, from, to)
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestVersionsBehind moves to a database that has lower versions, and cannot advance them.
func TestVersionsBehind(t *testing.T) {
	from, to := openSeeded(t), openEmpty(t)
	if _, err := Run(t.Context(), source(from), target(struct{ kv.Database }{to}), Options{}); !errors.Is(err, ErrVersions) {
		t.Fatalf("got %v", err)
	}
	if n := len(contents(t, to)); n != 1 {
		t.Errorf("the target has %d keys, not only the state", n)
	}
	if result, err := Run(t.Context(), source(from), target(to), Options{}); err != nil || result.Continued || !result.Advanced {
		t.Errorf("the second move: %+v, %v", result, err)
	}
	wantSame(t, from, to)
}

// TestVersionsAhead moves to a database with higher versions: they stay.
func TestVersionsAhead(t *testing.T) {
	from, to := openSeeded(t), openEmpty(t)
	if err := to.AdvanceVersion(t.Context(), 2*hundredYears); err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), source(from), target(to), Options{})
	if err != nil || result.Advanced {
		t.Errorf("%+v, %v", result, err)
	}
	wantSame(t, from, to)
}

var errCut = errors.New("the process was killed")

// cut is a database that begins a number of transactions, and then fails.
type cut struct {
	*embedded.Database
	left int
}

func (c *cut) Begin() (kv.Transaction, error) {
	if c.left--; c.left < 0 {
		return nil, errCut
	}
	return c.Database.Begin()
}

func (c *cut) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return transactIn(ctx, c, fn)
}

// transactIn runs fn in a transaction that Begin of the database returns.
func transactIn(ctx context.Context, db kv.Database, fn func(kv.Transaction) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

// TestInterrupted kills a move before each of the target's transactions, has a program write to the
// source, and moves again: once more if the copy has overlooked the write, which the move must notice.
func TestInterrupted(t *testing.T) {
	from := openSeeded(t)
	for n := 0; ; n++ {
		to := openEmpty(t)
		_, err := Run(t.Context(), source(from), target(&cut{to, n}), Options{batch: 30_000})
		if err == nil {
			if n < 12 {
				t.Errorf("the move has %d transactions only", n)
			}
			return
		}
		if !errors.Is(err, errCut) {
			t.Fatalf("after %d transactions: %v", n, err)
		}
		if len(contents(t, to)) > 0 && !slices.ContainsFunc(contents(t, to), func(p kv.KeyValue) bool { return string(p.Key) == stateKey }) {
			t.Fatalf("after %d transactions the target looks complete", n)
		}
		set(t, from, []byte{1}, fmt.Append(nil, n))
		_, err = Run(t.Context(), source(from), target(to), small)
		if errors.Is(err, ErrDiffers) {
			_, err = Run(t.Context(), source(from), target(to), small)
		}
		if err != nil {
			t.Fatalf("after %d transactions the second move: %v", n, err)
		}
		wantSame(t, from, to)
	}
}

func set(t *testing.T, db kv.Database, key, value []byte) {
	t.Helper()
	if err := db.Transact(t.Context(), func(tx kv.Transaction) error { tx.Set(key, value); return nil }); err != nil {
		t.Fatal(err)
	}
}

// lossy loses the answer of each transaction's first commit.
type lossy struct{ *embedded.Database }

func (l lossy) Begin() (kv.Transaction, error) {
	tx, err := l.Database.Begin()
	return &hook{tx, after, func() error { return nil }}, err
}

func (l lossy) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return transactIn(ctx, l, fn)
}

// TestLostAnswers moves to a database that has committed, and does not say so.
func TestLostAnswers(t *testing.T) {
	from, to := openSeeded(t), openEmpty(t)
	result, err := Run(t.Context(), source(from), target(lossy{to}), small)
	if err != nil || result.Continued {
		t.Fatalf("%+v, %v", result, err)
	}
	wantSame(t, from, to)
}

// TestSourceChanges writes to the source where it is copied already.
func TestSourceChanges(t *testing.T) {
	from, to := openSeeded(t), openEmpty(t)
	change := func(key byte, value []byte) {
		err := from.Transact(t.Context(), func(tx kv.Transaction) error {
			if tx.Set([]byte{key}, value); value == nil {
				tx.Clear([]byte{key})
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	change(1, []byte("earlier"))
	o := small
	o.Progress = func(Phase, int64, int64) {
		change(0, []byte("later"))
		change(1, nil)
	}
	_, err := Run(t.Context(), source(from), target(to), o)
	if !errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), "outside of directories (") {
		t.Fatalf("got %v", err)
	}
	if _, err := Run(t.Context(), source(from), target(to), small); err != nil {
		t.Fatal(err)
	}
	wantSame(t, from, to)
}

// TestRefusals checks what is refused before anything is copied.
func TestRefusals(t *testing.T) {
	from, filled, begun := openSeeded(t), openSeeded(t), openEmpty(t)
	if _, err := Run(t.Context(), source(from), target(filled), Options{}); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("into a database with keys: %v", err)
	}
	if _, err := Run(t.Context(), source(from), target(&cut{begun, 6}), small); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), End{DB: filled, Name: "other"}, target(begun), Options{}); !errors.Is(err, ErrOther) {
		t.Errorf("into the target of another move: %v", err)
	}
	if _, err := Run(t.Context(), End{DB: begun, Name: "begun"}, target(openEmpty(t)), Options{}); !errors.Is(err, ErrOther) {
		t.Errorf("out of the target of an unfinished move: %v", err)
	}
}

// TestStateLayout checks the stored state of a move, byte by byte, and what is not one.
func TestStateLayout(t *testing.T) {
	s := state{from: "/data", lock: []byte("0123456789abcdef"), next: []byte{0x15, 0x07}, stage: compared}
	want := "15 01  02 2f64617461 00  01 30313233343536373839616263646566 00  01 1507 00  15 01"
	if got := hex.EncodeToString(s.encode()); got != strings.ReplaceAll(want, " ", "") {
		t.Errorf("the state is %s", got)
	}
	if got, err := decodeState(s.encode()); err != nil || !cmp.Equal(s, got, cmp.AllowUnexported(state{})) {
		t.Errorf("decoded: %+v, %v", got, err)
	}
	if _, err := decodeState([]byte{0x15, 0x02}); err == nil || !strings.Contains(err.Error(), "of a newer program") {
		t.Errorf("of format 2: %v", err)
	}
	for _, damaged := range [][]byte{nil, {0x15}, {0x15, 0x01}, s.encode()[:20], append(s.encode()[:len(s.encode())-1], 3)} {
		if _, err := decodeState(damaged); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("of %x: %v", damaged, err)
		}
	}
	if got := lockName([]byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}); got != "00000000000000010000000000000002" {
		t.Errorf("the lock is %s", got)
	}
}

func binaryZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// TestRenewal checks what the target does not share with the source.
func TestRenewal(t *testing.T) {
	ctx := t.Context()
	from, to := openSeeded(t), openEmpty(t)
	odd := idgen.Layout{CustomEpoch: 1_500_000_000_000, TimestampBits: 41, ReserveBits: 1, MachineBits: 14, SequenceBits: 8}
	provider, err := leasefdb.New(from, leasefdb.Options{Lease: lease.Options{Services: map[string]lease.ServiceConfig{"odd": {Layout: odd}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"", "odd"} {
		if _, err := provider.Acquire(ctx, idgen.AcquireRequest{ServiceID: service}); err != nil {
			t.Fatal(err)
		}
	}
	members, err := membership.New(from, membership.Options{Duration: time.Hour}) // no renewal changes the source
	if err != nil {
		t.Fatal(err)
	}
	member, err := members.Join(ctx, membership.Self{Name: "bank-1", Address: "10.0.0.1:80", Kinds: []string{"account"}})
	if err != nil {
		t.Fatal(err)
	}
	defer member.Leave(context.WithoutCancel(ctx))

	result, err := Run(ctx, source(from), target(to), small)
	if err != nil {
		t.Fatal(err)
	}
	if result.Members != 1 {
		t.Errorf("removed %d members, want 1", result.Members)
	}
	if len(result.Services) != 2 || time.Until(result.Services[0].Until) < time.Minute || result.Services[1].Name != "odd" {
		t.Errorf("services: %+v", result.Services)
	}
	elsewhere, err := membership.New(to, membership.Options{})
	if err != nil {
		t.Fatal(err)
	}
	was, err := members.Topology(ctx, from)
	if err != nil {
		t.Fatal(err)
	}
	if topology, err := elsewhere.Topology(ctx, to); err != nil || len(topology.Members) != 0 || topology.Version == 0 || topology.Cluster == was.Cluster {
		t.Errorf("the target has the topology %+v, and the source %+v (%v)", topology, was, err)
	}
	after, err := leasefdb.New(to, leasefdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if leases, err := after.Acquire(ctx, idgen.AcquireRequest{}); err == nil {
		t.Errorf("a lease was granted in quarantine: %+v", leases)
	}
}
