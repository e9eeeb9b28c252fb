// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// CreateOrOpen opens the directory at path, or creates it, and its missing
// parents, with new prefixes. Expectations (see [As], [ElementAs]) are checked
// on what exists and recorded on what is created; without any a new directory
// has the empty layer. Calls for one path, in one transaction or in many, all
// return the same directory.
//
// Errors: [ErrLayer], [ErrRoot], [ErrPath], [ErrPrefixInUse], [ErrVersion].
func (l *Layer) CreateOrOpen(ctx context.Context, t kv.Transactor, path []string, expects ...Expect) (*Directory, error) {
	return l.create(ctx, t, creation{path: path, orOpen: true}, expects)
}

// Create creates the directory at path, and its missing parents. If it exists
// the error is [ErrExists]. Given a database, Create reports its own directory
// as created also if the acknowledgement of the commit was lost.
//
// Errors: those of [Layer.CreateOrOpen], and ErrExists.
func (l *Layer) Create(ctx context.Context, t kv.Transactor, path []string, expects ...Expect) (*Directory, error) {
	return l.create(ctx, t, creation{path: path}, expects)
}

// CreatePrefix is [Layer.Create] with a prefix chosen by the caller, in a layer
// that allows it. Missing parents have their prefixes allocated. Keys that are
// at the prefix already become the directory's; another directory there is an
// [ErrPrefixInUse]. Choose a prefix that was never used: a program that kept the
// prefix of a removed directory would otherwise read the new content.
//
// Errors: those of [Layer.Create], and [ErrManualPrefix].
func (l *Layer) CreatePrefix(ctx context.Context, t kv.Transactor, path []string, prefix []byte, expects ...Expect) (*Directory, error) {
	return l.create(ctx, t, creation{path: path, prefix: append([]byte{}, prefix...)}, expects)
}

func (l *Layer) create(ctx context.Context, t kv.Transactor, c creation, expects []Expect) (*Directory, error) {
	if err := l.checkCreation(&c, expects); err != nil {
		return nil, err
	}
	var d *Directory
	var own []string // prefixes that earlier attempts gave the directory
	err := change(ctx, t, func(tx kv.Transaction, maybeCommitted bool) error {
		t, err := l.followPath(ctx, tx, c.path)
		if err != nil {
			return err
		}
		if t.isComplete() {
			//persistvet:ignore txescape the caller asked for the directory, and is told to use it in one transaction
			d = t.directory()
			mine := maybeCommitted && slices.Contains(own, string(d.prefix))
			return c.checkExisting(t, mine)
		}
		if d, err = c.createMissing(ctx, tx, t); err == nil {
			//persistvet:ignore retryeffect earlier attempts may have been durable: their prefixes tell the own directory
			own = append(own, string(d.prefix))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create directory %s: %w", pathString(c.path), err)
	}
	return d, nil
}

func (l *Layer) checkCreation(c *creation, expects []Expect) (err error) {
	if c.prefix != nil && !l.options.AllowManualPrefixes {
		return fmt.Errorf("%w: set Options.AllowManualPrefixes, or use Create", ErrManualPrefix)
	}
	if len(c.path) == 0 {
		return fmt.Errorf("%w: it can be neither created nor opened", ErrRoot)
	}
	if err := l.checkPath(c.path); err != nil {
		return err
	}
	c.path = slices.Clone(c.path)
	c.want, err = expectationsOf(expects, len(c.path), c.shift)
	return err
}

// creation is what a creating verb was asked for.
type creation struct {
	path   []string
	shift  int // how many elements of path are not the caller's
	prefix []byte
	orOpen bool
	want   expectations
}

// checkExisting checks a directory that exists already. If it is the
// caller's own, created by an attempt with a lost acknowledgement, it counts
// as created.
func (c creation) checkExisting(t *trail, own bool) error {
	if !c.orOpen && !own {
		return ErrExists
	}
	return t.checkLayers(c.want)
}

// createMissing creates what a trail did not find. Nothing is linked before all
// prefixes are known to be good, so that a transaction which goes on after an
// error holds no half of a path.
func (c creation) createMissing(ctx context.Context, tx kv.Transaction, t *trail) (*Directory, error) {
	if err := t.checkLayers(c.want); err != nil {
		return nil, err
	}
	if err := t.makeWritable(tx); err != nil {
		return nil, err
	}
	if err := c.checkPrefix(ctx, tx, t); err != nil {
		return nil, err
	}
	begin := len(t.found)
	for i := begin; i < len(c.path); i++ {
		if err := c.planElement(ctx, tx, t, i); err != nil {
			return nil, err
		}
	}
	for i, e := range t.found[begin:] {
		tx.Set(e.link, e.prefix)
		tx.Set(e.tree.node(e.prefix).layerKey(), []byte(e.layer))
		if inner := begin+i+1 < len(c.path) && e.layer == Partition; inner {
			tx.Set(inPartition(e.prefix, nil).versionKey(), ownVersion.encode())
		}
	}
	return t.directory(), nil
}

// checkPrefix checks a prefix chosen by the caller, if there is one.
func (c creation) checkPrefix(ctx context.Context, tx kv.Transaction, t *trail) error {
	if c.prefix == nil {
		return nil
	}
	inPartition := !t.tree.isOutermost()
	for i := len(t.found); i < len(c.path)-1; i++ {
		layer, _ := c.want.of(i)
		inPartition = inPartition || layer == Partition
	}
	if inPartition {
		return fmt.Errorf("%w: the keys of a partition share its prefix", ErrManualPrefix)
	}
	return t.tree.checkFree(ctx, tx, c.prefix, false)
}

// planElement adds the path's element i to the trail as it is going to be.
func (c creation) planElement(ctx context.Context, tx kv.Transaction, t *trail, i int) error {
	if err := t.checkLink(); err != nil {
		return err
	}
	e := element{tree: t.tree, link: t.link(), prefix: c.prefix}
	e.layer, _ = c.want.of(i)
	if last := i == len(c.path)-1; !last || c.prefix == nil {
		var err error
		if e.prefix, err = t.tree.allocate(ctx, tx, c.prefix); err != nil {
			return err
		}
	}
	t.found = append(t.found, e)
	if e.layer == Partition {
		t.tree = inPartition(e.prefix, slices.Clone(c.path[:i+1]))
		t.parent = t.tree.root
	} else {
		t.parent = t.tree.node(e.prefix)
	}
	return nil
}

// allocator is FoundationDB's high-contention allocator: it gives out small
// integers, none twice, to many transactions at a time with few conflicts.
//
// Integers are given out in windows. A transaction counts itself in the current
// window by an atomic addition (no conflict), and takes a random integer of the
// window that is not taken. Only taking the same one conflicts. A window
// that is half full gives way to the next. The first user of that removes the traces
// of the older ones; windows grow with their start, so integers stay short.
//
// Why no integer is given out twice: a transaction that takes n in a window has
// read, at one version, that n was free and that no later window existed. Another
// transaction that takes n writes n's key, so either its write is visible to the
// first or one of the two conflicts. The key is removed only together with the
// making of a later window, and a transaction that sees the later window takes
// nothing in the older one.
//
// Calls in one transaction come one at a time (see exclusive). Therefore, other than
// the official implementations, this one reads a candidate before it writes it, and
// does not use the option that removes the conflict range of "the next write",
// which may be the write of another goroutine. In return, opening a window
// conflicts with transactions that take integers of the one before.
//
// The algorithm and layout are those of apple/foundationdb,
// bindings/python/fdb/directory_impl.py, HighContentionAllocator.
type allocator struct{ counters, recent tuple.Subspace }

// maxWindowStart bounds the integers that a sane database can have reached.
const maxWindowStart = 1 << 62

func newAllocator(s tuple.Subspace) allocator { return allocator{s.Sub(0), s.Sub(1)} }

// windowSize is the number of integers in the window beginning at start.
func windowSize(start int64) int64 {
	switch {
	case start < 255:
		return 64
	case start < 65535:
		return 1024
	}
	return 8192
}

// window is one of the allocator's windows, with what its counter says.
type window struct{ start, count int64 }

// allocate returns an integer that was never returned before, provided that tx
// commits. It must not run twice at a time in one transaction.
func (a allocator) allocate(ctx context.Context, tx kv.Transaction) (int64, error) {
	w, err := a.newestWindow(ctx, tx)
	if err != nil {
		return 0, err
	}
	for {
		start, err := a.enterWindow(ctx, tx, w)
		if err != nil {
			return 0, err
		}
		n, ok, err := a.takeFree(ctx, tx, start)
		if ok || err != nil {
			return n, err
		}
		// Fuller than its counter says. The next window is certainly empty.
		w = window{start: start + windowSize(start)}
		if err := a.openWindow(tx, w.start); err != nil {
			return 0, err
		}
	}
}

// newestWindow returns the newest window.
func (a allocator) newestWindow(ctx context.Context, tx kv.Transaction) (w window, err error) {
	newest := tx.Snapshot().GetRange(rangeOf(a.counters).Selectors(), kv.RangeOptions{Limit: 1, Reverse: true, Mode: kv.ModeExact})
	pairs, err := newest.Slice(ctx)
	if err != nil || len(pairs) == 0 {
		return w, err
	}
	if w.start, err = decodeWindow(a.counters, pairs[0].Key); err == nil {
		w.count, err = decodeCount(pairs[0].Key, pairs[0].Value)
	}
	return w, err
}

// errUnseenWrites is the error of creating verbs in a transaction with an option by which
// reads do not see its writes: the allocator would give out an integer twice.
var errUnseenWrites = kv.NewError(kv.CodeClientInvalidOperation, "no directory can be created in a transaction that does not read its own writes: "+
	"do not set OptionReadYourWritesDisable or OptionSnapshotRYWDisable")

// enterWindow counts the transaction in a window, or in the first one
// after it that is less than half full, and returns that one's start.
func (a allocator) enterWindow(ctx context.Context, tx kv.Transaction, w window) (int64, error) {
	for {
		counter := a.counters.Sub(w.start).Bytes()
		tx.Atomic(kv.Add, counter, kv.Int64(1))
		value, err := tx.Snapshot().Get(counter).Get(ctx)
		if err != nil {
			return 0, err
		}
		count, err := decodeCount(counter, value)
		if err != nil {
			return 0, err
		}
		if count <= w.count {
			return 0, errUnseenWrites
		}
		size := windowSize(w.start)
		if 2*count < size {
			return w.start, nil
		}
		w = window{start: w.start + size}
		if err := a.openWindow(tx, w.start); err != nil {
			return 0, err
		}
	}
}

// openWindow removes the traces of all windows before start.
func (a allocator) openWindow(tx kv.Transaction, start int64) error {
	key := a.counters.Sub(start).Bytes()
	if start > maxWindowStart {
		return &CorruptError{key, nil, "the allocator has no integers left"}
	}
	tx.ClearRange(kv.KeyRange{Begin: a.counters.Bytes(), End: key})
	tx.ClearRange(kv.KeyRange{Begin: a.recent.Bytes(), End: a.recent.Sub(start).Bytes()})
	return nil
}

// takeFree takes a free integer of the window at start. In a window less than half
// full it needs two tries on average; if it reports false, the window must
// have been far fuller than its counter says.
func (a allocator) takeFree(ctx context.Context, tx kv.Transaction, start int64) (int64, bool, error) {
	size := windowSize(start)
	for range size {
		//persistvet:ignore freshvalue another attempt may take another prefix: nothing else knows it yet
		candidate := start + rand.Int64N(size)
		key := a.recent.Sub(candidate).Bytes()
		taken, err := tx.Get(key).Get(ctx)
		if err != nil {
			return 0, false, err
		}
		if taken == nil {
			tx.Set(key, nil)
			return candidate, true, nil
		}
	}
	return 0, false, nil
}
