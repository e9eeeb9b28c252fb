// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
)

// engineView is a view as transactions read it. It has the size of a pointer, so
// that an interface holds it without an allocation.
type engineView struct{ view *view }

var _ ryw.View = engineView{}

// Version implements [ryw.View].
func (v engineView) Version() int64 { return v.view.version }

// Metadata implements [ryw.View].
func (v engineView) Metadata() []byte { return v.view.metadata }

// InMemory implements [ryw.View].
func (v engineView) InMemory() bool { return v.view.base == nil }

// GetCached implements [ryw.View].
func (v engineView) GetCached(key []byte) (value []byte, ok bool, err error) {
	value, ok, _, err = v.view.atHand(key)
	return value, ok, err
}

// Get implements [ryw.View].
func (v engineView) Get(key []byte) ([]byte, error) { return v.view.get(key) }

// NewScan implements [ryw.View].
func (v engineView) NewScan(b *rangeread.Budget) ryw.Scan {
	s := v.view.newScan()
	s.budget = b
	return &engineScan{s}
}

// Collect implements [ryw.View].
func (v engineView) Collect(begin, end []byte, reverse bool, r *rangeread.Builder, b *rangeread.Budget) (full bool, err error) {
	s := v.view.newScan()
	s.budget = b
	if reverse {
		full = s.gatherBelow(begin, end, r)
	} else {
		full = s.gather(begin, end, r)
	}
	return full, s.close()
}

// engineScan is a scan as transactions use it.
type engineScan struct{ scan scan }

// Seek implements [ryw.Scan].
func (s *engineScan) Seek(from []byte) (key, value []byte, ok bool) {
	ok = s.scan.seek(from)
	return s.scan.key, s.scan.value, ok
}

// Next implements [ryw.Scan].
func (s *engineScan) Next() (key, value []byte, ok bool) {
	ok = s.scan.next()
	return s.scan.key, s.scan.value, ok
}

// SeekBelow implements [ryw.Scan].
func (s *engineScan) SeekBelow(end []byte) (key, value []byte, ok bool) {
	ok = s.scan.seekBelow(end)
	return s.scan.key, s.scan.value, ok
}

// Err implements [ryw.Scan].
func (s *engineScan) Err() error { return s.scan.err }

// Close implements [ryw.Scan].
func (s *engineScan) Close() error { return s.scan.close() }
