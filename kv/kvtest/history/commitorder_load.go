// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

// orderLoad runs random transactions whose writers each leave a mark: a key of
// its own whose value is the versionstamp. The marks tell at the end which
// attempts with an unknown outcome have happened.
type orderLoad struct {
	clients
	keys  int
	count int
	ids   atomic.Int64

	mu       sync.Mutex
	attempts []*orderedAttempt
	last     []string
}

func (l *orderLoad) key(i int) string { return fmt.Sprintf("data/%02d", i) }

// orderKeys is where the data is; the marks are behind.
func orderKeys() kv.KeyRange { return kv.PrefixRange([]byte("data/")) }

const orderMark = "mark/"

func markKey(id int) []byte { return fmt.Appendf(nil, "%s%08d", orderMark, id) }

func (l *orderLoad) run(goroutines int) error {
	err := l.start(goroutines, func(rng *rand.Rand) error {
		for range l.count {
			if err := l.try(rng.Uint64()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.db.ReadTransact(l.ctx, l.readEnd)
}

// try runs one transaction until it commits.
func (l *orderLoad) try(seed uint64) error {
	var a *orderedAttempt
	run := func(tx kv.Transaction) (err error) {
		a = &orderedAttempt{id: int(l.ids.Add(1))}
		return l.fill(tx, a, rand.New(rand.NewPCG(seed, 0))) // a retry does the same
	}
	return l.transaction(run, func(life lifetime) {
		a.lifetime = life
		l.mu.Lock()
		defer l.mu.Unlock()
		if life.outcome != failed {
			l.attempts = append(l.attempts, a)
		}
	})
}

// fill does what the transaction of a seed does.
func (l *orderLoad) fill(tx kv.Transaction, a *orderedAttempt, rng *rand.Rand) (err error) {
	if a.version, err = tx.GetReadVersion().Get(l.ctx); err != nil {
		return err
	}
	a.marked, a.seeks = rng.IntN(4) > 0, rng.IntN(2) == 0
	for range 1 + rng.IntN(6) {
		runtime.Gosched() // for transactions to overlap also on a fast engine
		if a.marked && rng.IntN(2) == 0 {
			a.steps = append(a.steps, l.write(tx, rng, a))
			continue
		}
		step, err := l.read(tx, rng, a)
		if err != nil {
			return err
		}
		a.steps = append(a.steps, step)
	}
	if a.marked {
		tx.Atomic(kv.SetVersionstampedValue, markKey(a.id), binary.LittleEndian.AppendUint32(make([]byte, 10), 0))
	}
	return nil
}

// write does one random write.
func (l *orderLoad) write(tx kv.Transaction, rng *rand.Rand, a *orderedAttempt) orderStep {
	key, value := l.key(rng.IntN(l.keys)), fmt.Sprint(a.id)
	switch kind := rng.IntN(8); kind {
	case 0, 1, 2:
		tx.Set([]byte(key), []byte(value))
		return orderStep{text: "Set(" + key + ")", write: func(m model.Model) { m[key] = value }}
	case 3:
		tx.Clear([]byte(key))
		return orderStep{text: "Clear(" + key + ")", write: func(m model.Model) { delete(m, key) }}
	case 4:
		from := rng.IntN(l.keys)
		r := model.Span(l.key(from), l.key(from+1+rng.IntN(3)))
		tx.ClearRange(r)
		return orderStep{text: fmt.Sprintf("ClearRange(%s to %s)", r.Begin, r.End), write: func(m model.Model) { m.ClearRange(r) }}
	}
	ops := model.Operations()
	op, operand := ops[rng.IntN(len(ops))], []byte(value)
	if op == kv.CompareAndClear && a.seeks {
		op = kv.ByteMax
	} else if op == kv.CompareAndClear {
		operand = fmt.Append(nil, rng.IntN(a.id)+1)
	}
	tx.Atomic(op, []byte(key), operand)
	return orderStep{text: fmt.Sprintf("Atomic(%d, %s, %q)", op, key, operand), write: func(m model.Model) { m.Atomic(op, key, operand) }}
}

// read does one random read.
func (l *orderLoad) read(tx kv.Transaction, rng *rand.Rand, a *orderedAttempt) (orderStep, error) {
	step, view := orderStep{snapshot: rng.IntN(4) == 0}, kv.ReadTransaction(tx)
	if step.snapshot {
		view = tx.Snapshot()
	}
	var err error
	from := rng.IntN(l.keys)
	switch kind := rng.IntN(4); {
	case kind == 0:
		o := kv.RangeOptions{Limit: rng.IntN(4), Reverse: rng.IntN(2) == 0}
		err = l.readRange(view, &step, model.Span(l.key(from), l.key(from+1+rng.IntN(l.keys))), o)
	case kind == 1 && a.seeks:
		sel := kv.KeySelector{Key: []byte(l.key(from)), OrEqual: rng.IntN(2) == 0, Offset: rng.IntN(5) - 2}
		err = l.readSelector(view, &step, sel)
	default:
		err = l.readKey(view, &step, l.key(from))
	}
	return step, err
}

func (l *orderLoad) readKey(view kv.ReadTransaction, s *orderStep, key string) error {
	show := func(value string, present bool) string { return fmt.Sprintf("%q %t", value, present) }
	s.text = fmt.Sprintf("Get(%q)", key)
	s.read = func(m model.Model) string {
		value, present := m[key]
		return show(value, present)
	}
	value, err := view.Get([]byte(key)).Get(l.ctx)
	s.got = show(string(value), value != nil)
	return err
}

func (l *orderLoad) readRange(view kv.ReadTransaction, s *orderStep, r kv.KeyRange, o kv.RangeOptions) error {
	s.text = fmt.Sprintf("GetRange(%q to %q, %+v)", r.Begin, r.End, o)
	s.read = func(m model.Model) string { return fmt.Sprintf("%q", m.Scan(r.Selectors(), o)) }
	pairs, err := view.GetRange(r.Selectors(), o).Slice(l.ctx)
	s.got = fmt.Sprintf("%q", model.Texts(pairs))
	return err
}

// readSelector reads a key, and calls every key that is no data "outside".
func (l *orderLoad) readSelector(view kv.ReadTransaction, s *orderStep, sel kv.KeySelector) error {
	show := func(key string) string {
		if r := orderKeys(); key < string(r.Begin) || key >= string(r.End) {
			return "outside"
		}
		return key
	}
	s.text = fmt.Sprintf("GetKey(%v)", sel)
	s.read = func(m model.Model) string { return show(m.Key(sel)) }
	key, err := view.GetKey(sel).Get(l.ctx)
	s.got = show(string(key))
	return err
}

// readEnd reads the contents and the marks.
func (l *orderLoad) readEnd(tx kv.ReadTransaction) error {
	data, err := tx.GetRange(orderKeys().Selectors(), kv.RangeOptions{}).Slice(l.ctx)
	if err != nil {
		return err
	}
	l.last = model.Texts(data)
	marks, err := tx.GetRange(kv.PrefixRange([]byte(orderMark)).Selectors(), kv.RangeOptions{}).Slice(l.ctx)
	if err != nil {
		return err
	}
	stamps := map[string][]byte{}
	for _, mark := range marks {
		stamps[string(mark.Key)] = bytes.Clone(mark.Value)
	}
	for _, a := range l.attempts {
		a.stamp = stamps[string(markKey(a.id))]
	}
	return nil
}

// inOrder sorts the attempts by what they were.
func (l *orderLoad) inOrder() *commitOrder {
	c := &commitOrder{last: l.last}
	for _, a := range l.attempts {
		switch {
		case a.stamp != nil:
			c.writers = append(c.writers, a)
		case a.marked && a.outcome == committed:
			c.fault(a, "it committed and is not there")
		case a.outcome == committed:
			c.readers = append(c.readers, a)
		}
	}
	return c
}
