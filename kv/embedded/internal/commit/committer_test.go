// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// durable is a committer over a log and a base, without the rest of a database.
type durable struct {
	*Committer
	absorber *Absorber
}

// openDurable starts a committer in a folder of memory. Commits move to the base when
// the test says so.
func openDurable(t *testing.T) durable {
	t.Helper()
	fs, f := vfs.NewMem(), fault.New()
	b, err := base.Open("base", base.Options{Fs: fs, CacheSize: 1 << 20, MemTable: 1 << 20}, f)
	if err != nil {
		t.Fatal(err)
	}
	w := mvcc.NewDurableWindow(mvcc.NewJournal(1, 1<<20), mvcc.Leaps{})
	if err := fs.MkdirAll("log", 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := commitlog.Read(commitlog.Options{FS: fs, Dir: "log"}, commitlog.Replay{Apply: w.Replay})
	if err == nil {
		err = l.Start(0)
	}
	var head mvcc.Head
	if err == nil {
		err = head.Open(w, b, 0, 1<<16)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := NewCommitter(Options{Head: &head, Window: w, Watches: &watch.Table{}, Readers: &reads.Pool{}, Log: l, Fault: f})
	a := NewAbsorber(c, AbsorberOptions{Base: b, Log: l, Fault: f, Age: 1, FlushAt: 1 << 20, SettleAt: 1 << 19, WindowSize: 1 << 20})
	c.Start()
	t.Cleanup(func() {
		c.Stop(kv.ErrClosed)
		a.Stop()
		head.Close()
		_, err := l.Close()
		if err := errors.Join(err, b.Close()); err != nil {
			t.Error(err)
		}
	})
	return durable{c, a}
}

// outcomes gives the outcome of a request to a test.
type outcomes chan txn.Outcome

// Finish implements [txn.Finisher].
func (c outcomes) Finish(o txn.Outcome) { c <- o }

// write returns the request of a transaction that read the newest version and makes
// one write, and where its outcome comes.
func (d durable) write(op kv.MutationType, key, value []byte) (*txn.Request, outcomes) {
	told := make(outcomes, 1)
	return &txn.Request{
		ReadVersion: d.head.Newest().Version(), Undated: true, Finisher: told, Pointwise: true,
		Mutations: []mutation.Mutation{{Op: op, Key: key, Value: value}},
		Writes:    []kv.KeyRange{keys.Single(key)},
	}, told
}

// set commits a write.
func (d durable) set(t *testing.T, key, value []byte) {
	t.Helper()
	r, told := d.write(mutation.OpSet, key, value)
	d.Commit(r)
	d.Drive()
	if o := <-told; o.Err != nil {
		t.Fatal(o.Err)
	}
}

// absorb moves all commits but the last to the base.
func (d durable) absorb(t *testing.T) {
	t.Helper()
	if err := d.absorber.Pass(); err != nil {
		t.Fatal(err)
	}
}

// expectValue checks the newest value of a key.
func (d durable) expectValue(t *testing.T, key []byte, want string) {
	t.Helper()
	if got, err := d.head.Newest().Get(key); err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", key, got, err, want)
	}
}

// TestStaleInputs queues a commit after the value that its atomic operation needs
// was written again, and that has left the window.
func TestStaleInputs(t *testing.T) {
	d, key := openDurable(t), []byte("cold")
	d.set(t, key, []byte("old"))
	d.set(t, []byte("later"), nil)
	d.absorb(t)
	for range 2 {
		d.expectValue(t, key, "old") // its row is cached after the second read
	}
	sent, told := d.write(kv.AppendIfFits, key, []byte("+"))
	r := &request{Request: sent}
	if cold, err := r.gatherInputs(d.head.Newest()); cold != 0 || err != nil {
		t.Fatalf("%d inputs are not at hand (%v)", cold, err)
	}
	d.set(t, key, []byte("new"))
	d.set(t, []byte("later"), nil)
	d.absorb(t)
	d.submit(r)
	d.Drive()
	if o := <-told; kv.CodeOf(o.Err) != kv.CodeTransactionTooOld {
		t.Errorf("the commit gets %v, want CodeTransactionTooOld", o.Err)
	}
	d.expectValue(t, key, "new")
}

// TestVacancyPublishesNoCommit tells of a vacancy while a commit is decided that
// is not on the disk yet.
func TestVacancyPublishesNoCommit(t *testing.T) {
	d := openDurable(t)
	key := func(i int) []byte { return fmt.Appendf(nil, "lane/%06d", i) }
	for i := range 3 {
		d.set(t, key(i), []byte("value"))
	}
	d.absorb(t)
	for i := range 3 {
		r, told := d.write(mutation.OpClearRange, key(i), keys.Successor(key(i)))
		d.Commit(r)
		d.Drive()
		if o := <-told; o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	r, told := d.write(mutation.OpSet, key(1), []byte("new"))
	d.Commit(r)
	d.decideQueued()
	v := d.head.Published()
	v.ReportVacancy(kv.KeyRange{Begin: key(0), End: key(3)}, v.Version())
	v = d.head.Published()
	d.Drive()
	o := <-told
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	if value, err := v.Get(key(1)); err != nil || value != nil && v.Version() < o.Version {
		t.Errorf("the view at %d has %q, which was committed at %d (%v)", v.Version(), value, o.Version, err)
	}
	d.expectValue(t, key(1), "new")
}

// TestRequestsAreReused commits atomic operations, so that requests with inputs serve
// one commit after another: none sees what another one left.
func TestRequestsAreReused(t *testing.T) {
	d := openDurable(t)
	for i := range 200 {
		key := fmt.Appendf(nil, "key %d", i%7)
		r, told := d.write(kv.AppendIfFits, key, []byte{'a' + byte(i%7)})
		if i%3 == 0 { // a conflict, which leaves an error
			r.ReadVersion, r.Undated, r.Reads = 1, false, []kv.KeyRange{keys.Single(key)}
		}
		d.Commit(r)
		d.Drive()
		if o := <-told; (kv.CodeOf(o.Err) == kv.CodeTransactionTooOld) != (i%3 == 0) {
			t.Fatalf("commit %d gets %v", i, o.Err)
		}
		if i%20 == 19 {
			d.absorb(t)
		}
	}
	for k := range 7 {
		want := ""
		for i := k; i < 200; i += 7 {
			if i%3 != 0 {
				want += string(rune('a' + k))
			}
		}
		d.expectValue(t, fmt.Appendf(nil, "key %d", k), want)
	}
}

// TestRoomThatReadersLeave fills the window up to its soft limit while a reader keeps all of it in
// memory: the commit that waits is let in once the absorber has seen that, and not when the reader
// has ended.
func TestRoomThatReadersLeave(t *testing.T) {
	d := openDurable(t)
	d.absorber.Age, d.absorber.pressure.soft, d.absorber.pressure.limit = mvcc.WindowVersions, 64<<10, 4<<20
	reader := d.head.Acquire()
	for i := 0; d.absorber.journal.Bytes() <= 2*d.absorber.pressure.soft; i++ {
		d.set(t, fmt.Appendf(nil, "key %d", i), make([]byte, 10_000))
	}
	r, told := d.write(mutation.OpSet, []byte("waits"), nil)
	d.Commit(r)
	d.Drive()
	if !d.hasPending() {
		t.Fatal("no commit waits")
	}
	d.absorb(t)
	if d.hasPending() {
		t.Fatal("the commit still waits")
	}
	if o := <-told; o.Err != nil {
		t.Error(o.Err)
	}
	if value, err := reader.Get([]byte("key 0")); value != nil || err != nil {
		t.Errorf("the reader sees %d bytes, %v", len(value), err)
	}
}

// TestConflictsAreForgotten commits many write conflict ranges and nothing else after them: the
// absorber forgets them once they are too old to matter.
func TestConflictsAreForgotten(t *testing.T) {
	d := openDurable(t)
	r, told := d.write(mutation.OpSet, []byte("key"), nil)
	for i := range 20_000 {
		r.Writes = append(r.Writes, keys.Single(fmt.Appendf(nil, "conflict %d", i)))
	}
	d.Commit(r)
	d.Drive()
	if o := <-told; o.Err != nil {
		t.Fatal(o.Err)
	}
	d.head.Advance(d.head.Now() + 2*mvcc.WindowVersions)
	for range 4 {
		d.absorb(t)
	}
	n := 0
	for range d.resolver.Steps() {
		n++
	}
	if n > 100 {
		t.Errorf("%d ranges are kept", n)
	}
}
