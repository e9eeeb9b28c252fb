// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// stateKey is where the target has the state of a move, among the keys of the system: no
// program sees it, and it is not copied.
const stateKey = "\xff\x02/kazahana/move"

// keysEnd is above all keys that are moved.
const keysEnd = "\xff"

func userKeys() kv.KeyRange { return kv.KeyRange{Begin: []byte{}, End: []byte(keysEnd)} }

// state is how far a move has come. It is stored as the packed tuple
//
//	(1, name of the source, name of the locks, first key that is not copied yet, stage)
type state struct {
	from  string
	lock  []byte
	next  []byte // keysEnd: all are copied
	stage int64
}

// The stages of a move.
const (
	copying  = iota
	compared // the ends were the same
	givenUp  // what it has done is undone
)

func (s *state) encode() []byte {
	value, err := tuple.Tuple{int64(1), s.from, s.lock, s.next, s.stage}.Pack()
	if err != nil {
		panic("move: " + err.Error()) // all of these can be packed
	}
	return value
}

func decodeState(value []byte) (s state, err error) {
	t, err := tuple.Unpack(value)
	if err == nil && len(t) > 0 && t[0] != int64(1) {
		return s, fmt.Errorf("%w: its state has the format %v, of a newer program: finish it with that", ErrOther, t[0])
	}
	if err == nil && len(t) == 5 {
		var ok [4]bool
		s.from, ok[0] = t[1].(string)
		s.lock, ok[1] = t[2].([]byte)
		s.next, ok[2] = t[3].([]byte)
		s.stage, ok[3] = t[4].(int64)
		if ok == [4]bool{true, true, true, true} && len(s.lock) == lockSize && s.stage >= copying && s.stage <= givenUp {
			return s, nil
		}
	}
	return s, fmt.Errorf("%w: its state is damaged: %x", ErrOther, value)
}

// readState returns the stored state of the move into an end; nil if there is none. A shared end that was
// unlocked by hand has none: programs may have written since.
func readState(ctx context.Context, tx kv.Transaction, e End) ([]byte, error) {
	value, err := tx.Get([]byte(stateKey)).Get(ctx)
	if err != nil || value == nil || !e.Shared {
		return value, err
	}
	if lock, err := tx.Get([]byte(databaseLockKey)).Get(ctx); err != nil || lock == nil {
		return nil, err
	}
	return value, nil
}

// checkState returns an error unless the state that the target has is the one that this process has stored:
// another process goes on with the move.
func (m *move) checkState(value []byte) error {
	if string(m.state.encode()) == string(value) {
		return nil
	}
	return fmt.Errorf("%w: another process goes on with this one, or has given it up; wait for it, or stop it and run the move again", ErrOther)
}

// checkTarget returns an error unless the target is this move's, and as far as this process knows: value and err
// are what reading its state has returned.
func (m *move) checkTarget(ctx context.Context, tx kv.Transaction, value []byte, err error) error {
	if err == nil {
		err = m.checkState(value)
	}
	if err == nil {
		err = m.checkLocked(ctx, tx, m.to)
	}
	return err
}

// setState stores the next state, together with what do writes.
func (m *move) setState(ctx context.Context, next state, do func(kv.Transaction)) error {
	err := transactUnsure(ctx, m.to.DB, func(tx kv.Transaction, maybeCommitted bool) error {
		value, err := tx.Get([]byte(stateKey)).Get(ctx)
		if err == nil && maybeCommitted && string(value) == string(next.encode()) {
			return nil
		}
		if err := m.checkTarget(ctx, tx, value, err); err != nil {
			return err
		}
		do(tx)
		tx.Set([]byte(stateKey), next.encode())
		return nil
	})
	if err == nil { // the rest stays, because the goroutine that reads ahead reads the lock's name
		m.state.next, m.state.stage = next.next, next.stage
	}
	return err
}

// batch is what one transaction reads or writes: all pairs of a range.
type batch struct {
	kv.KeyRange
	pairs []kv.KeyValue
	bytes int64 // of keys and values
	more  bool  // the range that is read goes on after the batch
}

// take adds pairs until the batch costs so many bytes, and reports whether it does. A transaction has each
// key about three times, and some bytes for each pair.
func (b *batch) take(pairs []kv.KeyValue, cost *int64, most int64) (full bool) {
	const pairCost = 64
	for _, pair := range pairs {
		b.pairs = append(b.pairs, pair)
		b.bytes += int64(len(pair.Key) + len(pair.Value))
		if *cost += int64(pairCost + 3*len(pair.Key) + len(pair.Value)); *cost >= most {
			b.End, b.more = append(append([]byte{}, pair.Key...), 0), true
			return true
		}
	}
	return false
}

// copy copies what the target does not have yet.
func (m *move) copy(ctx context.Context) error {
	if string(m.state.next) == keysEnd {
		return nil
	}
	meter, err := m.startMeter(ctx, Copying, 1)
	if err != nil {
		return err
	}
	for b, err := range m.batches(ctx, m.from, kv.KeyRange{Begin: m.state.next, End: []byte(keysEnd)}) {
		if err == nil {
			err = m.write(ctx, b)
		}
		if err != nil {
			return err
		}
		meter.add(b.bytes)
	}
	return nil
}

// write replaces the range of a batch in the target. An earlier copy of it may have been of
// another state of the source.
func (m *move) write(ctx context.Context, b batch) error {
	next := m.state
	next.next = b.End
	return m.setState(ctx, next, func(tx kv.Transaction) {
		tx.ClearRange(b.KeyRange)
		for _, pair := range b.pairs {
			tx.Set(pair.Key, pair.Value)
		}
	})
}

// batches yields the pairs of a range of an end. While one batch is used the next one is read.
func (m *move) batches(ctx context.Context, e End, all kv.KeyRange) iter.Seq2[batch, error] {
	type answer struct {
		batch
		err error
	}
	return func(yield func(batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var reading sync.WaitGroup
		defer reading.Wait()
		defer cancel()
		start := func(at []byte) <-chan answer {
			c := make(chan answer, 1)
			reading.Go(func() {
				b, err := m.read(ctx, e, kv.KeyRange{Begin: at, End: all.End})
				c <- answer{b, err}
			})
			return c
		}
		for next := start(all.Begin); ; {
			a := <-next
			more := a.err == nil && a.more
			if more {
				next = start(a.End)
			}
			if !yield(a.batch, a.err) || !more {
				return
			}
		}
	}
}

// read reads a batch. The versions of batches differ, and say the same: no program writes there.
func (m *move) read(ctx context.Context, e End, rest kv.KeyRange) (b batch, err error) {
	err = transact(ctx, e.DB, func(tx kv.Transaction) error {
		b = batch{KeyRange: rest}
		if err := m.checkLocked(ctx, tx, e); err != nil {
			return err
		}
		cost := int64(0)
		for part, err := range tx.Snapshot().GetRange(b.Selectors(), kv.RangeOptions{}).Batches(ctx) {
			if err != nil || b.take(part.KVs, &cost, m.options.batch) {
				return err
			}
		}
		return nil
	})
	return b, err
}

// meter tells the progress of a phase.
type meter struct {
	mu          sync.Mutex
	phase       Phase
	done, total int64
	show        func(Phase, int64, int64)
}

// startMeter returns the meter of a phase that reads so many databases of the source's size.
func (m *move) startMeter(ctx context.Context, phase Phase, times int64) (*meter, error) {
	w := &meter{phase: phase, show: m.options.Progress}
	err := transact(ctx, m.from.DB, func(tx kv.Transaction) error {
		size, err := tx.GetEstimatedRangeSizeBytes(userKeys()).Get(ctx)
		w.total = size * times
		return err
	})
	return w, err
}

func (w *meter) add(bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done += bytes; w.show != nil {
		w.show(w.phase, w.done, w.total)
	}
}
