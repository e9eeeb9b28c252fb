// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// TestVersionOfAnOpenTransaction asks for the view of a version that is still read,
// with more commits behind it than the history holds by itself.
func TestVersionOfAnOpenTransaction(t *testing.T) {
	const at, commits = 2500, 1024
	var h Head
	w, key := NewMemoryWindow(), []byte("n")
	if err := h.Open(w, nil, 0, commits*1000*historyShare); err != nil {
		t.Fatal(err)
	}
	commit := func(from, to int) {
		for i := from; i < to; i++ {
			m := mutation.Mutation{Op: mutation.OpSet, Key: key, Value: binary.BigEndian.AppendUint64(nil, uint64(i))}
			version := h.Assign()
			w.Apply(&m, version, true)
			v, cost := w.Snapshot(version, []mutation.Mutation{m})
			h.Publish(v, cost)
		}
	}
	commit(0, at+1)
	read := h.Newest()
	commit(at+1, at+3*commits)
	runtime.GC()

	v, err := h.At(read.Version())
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.Get(key)
	if want := binary.BigEndian.AppendUint64(nil, at); err != nil || !bytes.Equal(got, want) {
		t.Errorf("at the version that is read: %x, %v, want %x", got, err, want)
	}
	if n := len(h.past.views); n < 3*commits {
		t.Errorf("the history has %d views, fewer than there were commits", n)
	}
	if h.past.held <= at {
		t.Errorf("the history holds all views from %d on by itself", h.past.held)
	}
	runtime.KeepAlive(read)
}

// TestOldestReadOfAnIdleDatabase reads the newest version long after its commit, and
// commits again: what the reader reads is not older than it says.
func TestOldestReadOfAnIdleDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h Head
		w := NewMemoryWindow()
		if err := h.Open(w, nil, 0, 1<<20); err != nil {
			t.Fatal(err)
		}
		publish := func() int64 {
			version := h.Assign()
			v, cost := w.Snapshot(version, nil)
			h.Publish(v, cost)
			return version
		}
		first := publish()
		time.Sleep(time.Minute)
		read := h.Newest()
		time.Sleep(time.Second)
		publish()
		second := publish()
		h.ReleasePast()
		runtime.GC()
		if got := h.OldestRead(h.Now() - WindowVersions); got != first {
			t.Errorf("the oldest version that is read is %d, want %d: a transaction reads %d", got, first, read.Version())
		}
		runtime.KeepAlive(read)
		time.Sleep(2 * time.Minute)
		if got := h.OldestRead(h.Now() - WindowVersions); got != second {
			t.Errorf("later the oldest version that is read is %d, want %d", got, second)
		}
		h.Close()
	})
}
