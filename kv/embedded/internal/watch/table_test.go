// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// fakeView is a view of few keys. A cold one has none in memory.
type fakeView struct {
	version int64
	values  map[string]string
	err     error
	cold    bool
}

func (v *fakeView) Version() int64 { return v.version }

func (v *fakeView) Get(key []byte) ([]byte, error) {
	if value, ok := v.values[string(key)]; ok && v.err == nil {
		return []byte(value), nil
	}
	return nil, v.err
}

func (v *fakeView) LookUp(key []byte) (value []byte, ok bool, t reads.Ticket, err error) {
	if v.cold {
		return nil, false, t, nil
	}
	value, err = v.Get(key)
	return value, true, t, err
}

func (v *fakeView) Release() {}

// at returns a view with the key k: "-" stands for no value.
func at(version int64, value string) *fakeView {
	if value == "-" {
		return &fakeView{version: version}
	}
	return &fakeView{version: version, values: map[string]string{"k": value}}
}

func (v *fakeView) newest() View { return v }

// add makes a watch on k that saw a value.
func add(t *testing.T, table *Table, saw string) *Watch {
	t.Helper()
	value, _ := at(0, saw).Get([]byte("k"))
	w, err := table.Add([]byte("k"), value)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// outcome says whether a watch is armed, and how it has ended.
func outcome(w *Watch) string {
	select {
	case <-w.Done():
		_, err := w.Result()
		return fmt.Sprintf("armed %t, ended %v", w.IsArmed(), err)
	default:
		return fmt.Sprintf("armed %t", w.IsArmed())
	}
}

func check(t *testing.T, what string, w *Watch, want string) {
	t.Helper()
	if got := outcome(w); got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

const waits, fired = "armed true", "armed false, ended <nil>"

var (
	setK    = mutation.Mutation{Op: mutation.OpSet, Key: []byte("k"), Value: []byte("any")}
	clearK  = mutation.Mutation{Op: mutation.OpSet, Key: []byte("k")}
	setOf   = func(key string) mutation.Mutation { return mutation.Mutation{Op: mutation.OpSet, Key: []byte(key)} }
	clearOf = func(begin, end string) mutation.Mutation {
		return mutation.Mutation{Op: mutation.OpClearRange, Key: []byte(begin), Value: []byte(end)}
	}
)

// TestFireChanged arms a watch at version 1 and publishes version 2.
func TestFireChanged(t *testing.T) {
	for name, c := range map[string]struct {
		saw, now string
		change   mutation.Mutation
		want     string
	}{
		"another value":              {"a", "b", setK, fired},
		"the same value":             {"a", "a", setK, waits},
		"a clear":                    {"a", "-", clearK, fired},
		"a clear of nothing":         {"-", "-", clearK, waits},
		"a range clear":              {"a", "-", clearOf("j", "l"), fired},
		"a range that begins at it":  {"a", "-", clearOf("k", "l"), fired},
		"a range that ends at it":    {"a", "a", clearOf("j", "k"), waits},
		"an empty value for none":    {"-", "", setK, fired},
		"no value for an empty one":  {"", "-", clearK, fired},
		"a range, set again in it":   {"a", "a", clearOf("j", "l"), waits},
		"another key":                {"a", "a", setOf("k2"), waits},
		"a value where there was no": {"-", "b", setK, fired},
	} {
		t.Run(name, func(t *testing.T) {
			var table Table
			w := add(t, &table, c.saw)
			table.Arm(at(1, c.saw).newest, []*Watch{w}, nil)
			check(t, "once armed", w, waits)
			table.FireChanged(at(2, c.now), []mutation.Mutation{c.change})
			check(t, "after the commit", w, c.want)
			if want := map[string]int64{waits: 1, fired: 0}[c.want]; table.Count() != want {
				t.Errorf("%d watches are not finished, want %d", table.Count(), want)
			}
		})
	}
}

// TestChangeBeforeArm publishes a change before the watch is armed, and between the
// two moments at which Arm looks at the newest view. The watch fires once.
func TestChangeBeforeArm(t *testing.T) {
	var table Table
	w := add(t, &table, "a")
	table.FireChanged(at(1, "b"), []mutation.Mutation{setK})
	table.Arm(at(1, "b").newest, []*Watch{w}, nil)
	check(t, "changed before", w, fired)

	w = add(t, &table, "a")
	looks := 0
	table.Arm(func() View {
		if looks++; looks == 1 {
			return at(1, "a")
		}
		table.FireChanged(at(2, "b"), []mutation.Mutation{setK})
		return at(2, "b")
	}, []*Watch{w}, nil)
	check(t, "changed in between", w, fired)
	if table.Count() != 0 {
		t.Errorf("%d watches are not finished", table.Count())
	}
}

// TestLateFireChanged tells the table late of a commit that the watch's transaction has
// seen: its view has the value of a later commit. The watch fires at the next change.
func TestLateFireChanged(t *testing.T) {
	var table Table
	w := add(t, &table, "b")
	table.Arm(at(3, "b").newest, []*Watch{w}, nil)
	table.FireChanged(at(2, "a"), []mutation.Mutation{setK})
	check(t, "a commit of before", w, waits)
	table.FireChanged(at(4, "c"), []mutation.Mutation{setK})
	check(t, "a commit of after", w, fired)
}

// TestDisplacedWatches arms a watch that its own transaction has fired already: those on
// its key that saw another value fire.
func TestDisplacedWatches(t *testing.T) {
	var table Table
	same, other, own := add(t, &table, "a"), add(t, &table, "b"), add(t, &table, "a")
	table.Arm(at(1, "a").newest, []*Watch{same}, nil)
	table.Arm(at(1, "b").newest, []*Watch{other}, nil)
	own.Finish(nil)
	table.Arm(at(1, "a").newest, []*Watch{own}, nil)
	check(t, "saw the same value", same, waits)
	check(t, "saw another value", other, fired)
	check(t, "its own", own, fired)
}

func TestCancel(t *testing.T) {
	var table Table
	const cancelled = "armed false, ended kv: asynchronous operation cancelled (1101): the watch was cancelled"
	early, late := add(t, &table, "a"), add(t, &table, "a")
	early.Cancel()
	table.Arm(at(1, "a").newest, []*Watch{early, late}, nil)
	check(t, "cancelled before", early, cancelled)
	late.Cancel()
	check(t, "cancelled after", late, cancelled)
	if table.FireChanged(at(2, "b"), []mutation.Mutation{setK}); table.Count() != 0 {
		t.Errorf("%d watches are not finished", table.Count())
	}
}

func TestClose(t *testing.T) {
	var table Table
	armed, later := add(t, &table, "a"), add(t, &table, "a")
	table.Arm(at(1, "a").newest, []*Watch{armed}, nil)
	table.Close(kv.ErrClosed)
	check(t, "armed", armed, "armed false, ended kv: the database is closed")
	table.Arm(at(1, "a").newest, []*Watch{later}, nil)
	check(t, "armed later", later, "armed false, ended kv: the database is closed")
}

// TestUnreadableValue fails the read of the value: the watch fails with that error.
func TestUnreadableValue(t *testing.T) {
	var table Table
	broken := &fakeView{version: 2, err: errors.New("the disk")}
	w := add(t, &table, "a")
	table.Arm(broken.newest, []*Watch{w}, nil)
	check(t, "when armed", w, "armed false, ended the disk")
	w = add(t, &table, "a")
	table.Arm(at(1, "a").newest, []*Watch{w}, nil)
	table.FireChanged(broken, []mutation.Mutation{setK})
	check(t, "when fired", w, "armed false, ended the disk")
}

// TestArmDoesNotWait arms watches while memory does not have the values of their keys: a task
// reads the newest value.
func TestArmDoesNotWait(t *testing.T) {
	for name, c := range map[string]struct {
		now  *fakeView // when the task runs
		want string
	}{
		"the value that it saw": {at(2, "a"), waits},
		"another value":         {at(2, "b"), fired},
		"an error":              {&fakeView{err: errors.New("the disk")}, "armed false, ended the disk"},
		"a version too old":     {&fakeView{err: kv.NewError(kv.CodeTransactionTooOld, "scripted")}, fired},
	} {
		t.Run(name, func(t *testing.T) {
			var table Table
			w := add(t, &table, "a")
			newest := &fakeView{version: 1, cold: true, err: errors.New("the value was read at once")}
			var tasks []reads.Task
			table.Arm(func() View { return newest }, []*Watch{w}, func(task reads.Task) { tasks = append(tasks, task) })
			check(t, "once armed", w, waits)
			newest = c.now
			for _, task := range tasks {
				task.Run()
			}
			check(t, "once read", w, c.want)
		})
	}
}

func TestTooManyWatches(t *testing.T) {
	var table Table
	var first *Watch
	for range kv.MaxWatches {
		if w := add(t, &table, "a"); first == nil {
			first = w
		}
	}
	if _, err := table.Add([]byte("k"), nil); kv.CodeOf(err) != kv.CodeTooManyWatches {
		t.Errorf("one more: %v, want code %d", err, kv.CodeTooManyWatches)
	}
	first.Cancel()
	if _, err := table.Add([]byte("k"), nil); err != nil {
		t.Errorf("after one was cancelled: %v", err)
	}
}

// TestConcurrentCommits arms watches from several goroutines while versions are
// published. Whatever the order, in the end a watch waits only if its key has the value
// that it saw.
func TestConcurrentCommits(t *testing.T) {
	random := seed.Rand(t)
	var table Table
	var mu sync.Mutex
	newest := &fakeView{values: map[string]string{}}
	look := func() View { mu.Lock(); defer mu.Unlock(); return newest }
	var all [4][]*Watch
	var wg sync.WaitGroup
	for g := range all {
		rng := rand.New(rand.NewPCG(random.Uint64(), 0))
		wg.Go(func() {
			for range 500 {
				key := fmt.Append(nil, rng.IntN(5))
				value, _ := look().Get(key)
				if w, err := table.Add(key, value); err == nil {
					table.Arm(look, []*Watch{w}, nil)
					all[g] = append(all[g], w)
				}
			}
		})
	}
	for version := range int64(2000) { // one committer, as in a database
		key := fmt.Sprint(random.IntN(5))
		next := &fakeView{version: version + 1, values: maps.Clone(look().(*fakeView).values)}
		next.values[key] = fmt.Sprint(random.IntN(3))
		mu.Lock()
		newest = next
		mu.Unlock()
		table.FireChanged(next, []mutation.Mutation{setOf(key)})
	}
	wg.Wait()
	for _, watches := range all {
		for _, w := range watches {
			if value, _ := newest.Get(w.Key); w.IsArmed() && !same(value, w.Value) {
				t.Errorf("a watch on %s that saw %q waits; the value is %q", w.Key, w.Value, value)
			}
		}
	}
}
