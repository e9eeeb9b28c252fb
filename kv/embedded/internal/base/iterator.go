// SPDX-License-Identifier: Apache-2.0

package base

import (
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/kv"
)

// Iterator walks over the pairs of a base as they were at one moment after it
// was opened. The zero iterator is not open. It is for one goroutine.
type Iterator struct {
	iter *pebble.Iterator // nil: not open
	gate *Gate
	name []byte // room for a key of the base
}

// Open opens the iterator between two keys; nil means no bound. The bounds keep it from
// going through deleted pairs that are not asked for. The base does not close before
// the iterator.
func (i *Iterator) Open(b *Base, begin, end []byte) error {
	if !b.gate.Enter() {
		return kv.ErrClosed
	}
	o := &pebble.IterOptions{LowerBound: firstPair, UpperBound: lastPair}
	room := make([]byte, 2*(len(begin)+len(end)+2)) // for the bounds, and a key of as many bytes
	cut := func(key []byte) []byte {
		name := baseKey(room[:0:len(key)+1], key)
		room = room[len(name):]
		return name
	}
	if begin != nil {
		o.LowerBound = cut(begin)
	}
	if end != nil {
		o.UpperBound = cut(end)
	}
	i.name = room[:0]
	iter, err := b.db.NewIter(o)
	if err != nil {
		b.gate.Leave()
		return readFailed(err)
	}
	i.iter, i.gate = iter, b.gate
	return nil
}

var firstPair, lastPair = []byte{userSpace}, []byte{spaceEnd}

func (i *Iterator) IsOpen() bool { return i.iter != nil }

// Close closes an open iterator.
func (i *Iterator) Close() error {
	err := i.iter.Close()
	i.iter = nil
	i.gate.Leave()
	if err != nil {
		return readFailed(err)
	}
	return nil
}

// Key returns the key of the pair that was found, until the iterator moves.
func (i *Iterator) Key() []byte { return i.iter.Key()[1:] }

// Value returns the value of the pair that was found, until the iterator moves.
func (i *Iterator) Value() []byte { return i.iter.Value() }

func (i *Iterator) Next() bool { return i.iter.Next() }
func (i *Iterator) Prev() bool { return i.iter.Prev() }

// Seek moves to the first pair with a key not below key.
func (i *Iterator) Seek(key []byte) bool {
	i.name = baseKey(i.name[:0], key)
	return i.iter.SeekGE(i.name)
}

// SeekBelow moves to the last pair with a key below key, or with inclusive not
// above it.
func (i *Iterator) SeekBelow(key []byte, inclusive bool) bool {
	i.name = baseKey(i.name[:0], key)
	if inclusive {
		i.name = append(i.name, 0)
	}
	return i.iter.SeekLT(i.name)
}

// Err returns why the last move found nothing, nil if there was nothing.
func (i *Iterator) Err() error {
	if err := i.iter.Error(); err != nil {
		return readFailed(err)
	}
	return nil
}

// Steps returns how many keys, deleted ones included, the iterator went past.
func (i *Iterator) Steps() int {
	s := i.iter.Stats()
	steps := s.ForwardStepCount[pebble.InternalIterCall] + s.ReverseStepCount[pebble.InternalIterCall]
	return steps + int(s.InternalStats.PointsCoveredByRangeTombstones)
}

// Gate lets users in until it is shut, and shutting waits for those inside.
// Entering costs one atomic addition.
type Gate struct {
	users atomic.Int64 // those inside; less shutBias once shut
	once  sync.Once
	empty chan struct{} // closed when shut and empty
}

const shutBias = 1 << 62

func NewGate() *Gate { return &Gate{empty: make(chan struct{})} }

// Enter reports whether the gate is open. If so, leave must follow.
func (g *Gate) Enter() bool {
	if g.users.Add(1) > 0 {
		return true
	}
	g.Leave()
	return false
}

func (g *Gate) Leave() {
	if g.users.Add(-1) == -shutBias {
		g.once.Do(func() { close(g.empty) })
	}
}

// Shut closes the gate and waits until everyone has left. It is called once.
func (g *Gate) Shut() {
	if g.users.Add(-shutBias) == -shutBias {
		g.once.Do(func() { close(g.empty) })
	}
	<-g.empty
}
