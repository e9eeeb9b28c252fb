// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Round runs so many operations of the entrant, with its preparation before
// and its check behind, and returns how long the operations took. If turn is
// not nil it is called when they begin, and what it returns when they are done.
func (e *Entrant) Round(ops int, turn func() (end func())) (time.Duration, error) {
	if e.Prepare != nil {
		if err := e.Prepare(); err != nil {
			return 0, fmt.Errorf("%s: preparing: %w", e.Name, err)
		}
	}
	runtime.GC() // nobody pays for the garbage of the entrant before
	end := func() {}
	if turn != nil {
		end = turn()
	}
	begin := time.Now()
	err := e.spread(ops)
	took := time.Since(begin)
	end()
	if err == nil && e.Check != nil {
		err = e.Check(ops)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", e.Name, err)
	}
	return took, nil
}

// spread runs the operations in the entrant's goroutines.
func (e *Entrant) spread(ops int) error {
	var (
		next   atomic.Int64
		wg     sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	for g := range max(e.Goroutines, 1) {
		wg.Go(func() {
			w := Worker{Rand: rand.New(rand.NewPCG(rand.Uint64(), uint64(g)))}
			for w.N = int(next.Add(1)) - 1; w.N < ops; w.N = int(next.Add(1)) - 1 {
				if err := e.Op(&w); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	return failed
}
