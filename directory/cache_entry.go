// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// moment is a version of the database and the value that the metadata version
// key has there, "" if none.
type moment struct {
	version  int64
	metadata string
}

// observe returns the moment that tx reads, and nil if tx may have written the
// metadata version key. Both values arrive with the read version.
func observe(ctx context.Context, tx kv.ReadTransaction) (*moment, error) {
	version, err := tx.GetReadVersion().Get(ctx)
	if err != nil {
		return nil, err
	}
	future, readable := changed.startRead(tx, version)
	if !readable {
		return nil, nil
	}
	value, err := future.Get(ctx)
	if kv.CodeOf(err) == kv.CodeAccessedUnreadable {
		return nil, fmt.Errorf("directory: the transaction has written \\xff/metadataVersion other than by directory.Invalidate: %w", err)
	}
	return &moment{version, string(value)}, err
}

// entry is a cached directory. Only used changes.
type entry struct {
	moment
	directory *Directory
	facts     []fact // the keys from which it is known, with their values
	used      atomic.Bool
}

// trueAt reports whether nothing was moved or removed between the moment at which
// the entry was read and m. It is false for an earlier m, when the directory may not
// have existed.
func (e *entry) trueAt(m *moment) bool {
	return e.metadata == m.metadata && e.version <= m.version
}

// addConflicts makes tx conflict with every move and removal of the directory or of
// a directory above it, by whatever program: each changes or clears one of the
// links on the path. Nothing else that is known of a directory can change
// while its links stay.
func (e *entry) addConflicts(tx kv.ReadTransaction) error {
	if w, ok := tx.(kv.Transaction); ok {
		return e.directory.Protect(w)
	}
	return nil
}

func (e *entry) checkLayers(want expectations) error {
	for _, x := range want {
		if got := e.directory.layers[x.element]; got != x.layer {
			return &LayerError{slices.Clone(e.directory.path[:x.element+1]), x.layer, got}
		}
	}
	return nil
}

// unchanged reads the facts again, all at once, and compares.
func unchanged(ctx context.Context, tx kv.ReadTransaction, facts []fact) (bool, error) {
	values := make([]kv.Future[[]byte], len(facts))
	for i, f := range facts {
		values[i] = tx.Get(f.key)
	}
	for i, f := range facts {
		value, err := values[i].Get(ctx)
		if err != nil {
			return false, err
		}
		if (value == nil) != (f.value == nil) || !bytes.Equal(value, f.value) {
			return false, nil
		}
	}
	return true, nil
}

// entryTable is a bounded map from paths to entries. To make room it drops an
// entry that was not used since the last look at it.
type entryTable struct {
	mu     *sync.RWMutex
	byPath map[string]*entry
	limit  int
}

func newEntryTable(limit int) entryTable {
	return entryTable{new(sync.RWMutex), map[string]*entry{}, limit}
}

// pathKey is an injective encoding of a path.
func pathKey(buf []byte, path []string) []byte {
	for _, name := range path {
		buf = binary.AppendUvarint(buf, uint64(len(name)))
		buf = append(buf, name...)
	}
	return buf
}

func (t *entryTable) get(path []string) *entry {
	var buf [128]byte
	key := pathKey(buf[:0], path)
	t.mu.RLock()
	e := t.byPath[string(key)]
	t.mu.RUnlock()
	if e != nil && !e.used.Load() {
		e.used.Store(true)
	}
	return e
}

// put keeps e unless there is a newer entry.
func (t *entryTable) put(path []string, e *entry) {
	key := string(pathKey(nil, path))
	t.mu.Lock()
	defer t.mu.Unlock()
	if other := t.byPath[key]; other != nil {
		if other.version <= e.version {
			t.byPath[key] = e
		}
		return
	}
	if len(t.byPath) >= t.limit {
		t.evict()
	}
	t.byPath[key] = e
}

// remove drops e.
func (t *entryTable) remove(path []string, e *entry) {
	key := string(pathKey(nil, path))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byPath[key] == e {
		delete(t.byPath, key)
	}
}

// evict looks at up to eight entries in the map's random order and drops the first
// that was not used since evict looked at it before, or the last of them.
func (t *entryTable) evict() {
	victim, looks := "", 8
	for key, e := range t.byPath {
		victim = key
		if looks--; looks == 0 || !e.used.Swap(false) {
			break
		}
	}
	delete(t.byPath, victim)
}
