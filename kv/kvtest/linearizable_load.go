// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// pointLoad runs random operations on single keys.
type pointLoad struct {
	clients
	keys  int
	count int
	next  atomic.Int64 // a number that nobody has written yet

	mu   sync.Mutex
	done []*pointOp
}

func (l *pointLoad) run(goroutines int) error {
	return l.start(goroutines, func(rng *rand.Rand) error {
		seen := emptyRegister
		for range l.count {
			op, err := l.operate(l.draw(rng, seen))
			if err != nil {
				return err
			}
			if op.reads() {
				seen = op.got
			}
		}
		return nil
	})
}

// draw chooses an operation. It compares with what the client has read last, so
// that it often finds it.
func (l *pointLoad) draw(rng *rand.Rand, seen register) pointOp {
	op := pointOp{key: fmt.Sprintf("point/%d", rng.IntN(l.keys)), arg: register(1000 * l.next.Add(1))}
	switch rng.IntN(10) {
	case 0, 1, 2:
		op.kind = getOp
	case 3, 4:
		op.kind = setOp
	case 5:
		op.kind = clearOp
	case 6:
		op.kind, op.arg = addOp, register(1+rng.IntN(3))
	case 7:
		op.kind, op.arg = unsetOp, max(seen, 0)
	default:
		op.kind = modifyOp
	}
	return op
}

// operate does the operation until it commits, and notes each attempt. A
// read-modify-write that is tried again writes another number.
func (l *pointLoad) operate(draft pointOp) (*pointOp, error) {
	var op *pointOp
	run := func(tx kv.Transaction) (err error) {
		attempt := draft
		op = &attempt
		if op.kind == modifyOp || op.kind == setOp {
			op.arg = register(1000 * l.next.Add(1))
		}
		if op.reads() {
			if op.got, err = l.get(tx, op.key); err != nil {
				return err
			}
			runtime.Gosched() // for operations to overlap also on a fast engine
		}
		op.writeTo(tx)
		return nil
	}
	err := l.transaction(run, func(life lifetime) {
		op.lifetime = life
		l.mu.Lock()
		defer l.mu.Unlock()
		l.done = append(l.done, op)
	})
	return op, err
}

func (l *pointLoad) get(tx kv.Transaction, key string) (register, error) {
	value, err := tx.Get([]byte(key)).Get(l.ctx)
	switch {
	case err != nil:
		return 0, err
	case value == nil:
		return emptyRegister, nil
	case len(value) != 8:
		return 0, fmt.Errorf("%s holds %q, which nobody wrote", key, value)
	}
	return register(binary.LittleEndian.Uint64(value)), nil
}

func (o *pointOp) writeTo(tx kv.Transaction) {
	key, value := []byte(o.key), kv.Int64(int64(o.arg))
	switch o.kind {
	case setOp, modifyOp:
		tx.Set(key, value)
	case clearOp:
		tx.Clear(key)
	case addOp:
		tx.Atomic(kv.Add, key, value)
	case unsetOp:
		tx.Atomic(kv.CompareAndClear, key, value)
	}
}
