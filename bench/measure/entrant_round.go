// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Round runs ops operations of the entrant, or, if span is not 0, as many as fit into it,
// between its preparation and its check. It returns their number and their time. If turn is
// not nil, Round calls it when the operations begin, and its result when they have ended.
func (e *Entrant) Round(ops int, span time.Duration, turn func() (end func())) (done int, took time.Duration, err error) {
	if e.Prepare != nil {
		if err := e.Prepare(); err != nil {
			return 0, 0, fmt.Errorf("%s: preparing: %w", e.Name, err)
		}
	}
	runtime.GC() // so that no entrant pays for the garbage of the one before
	end := func() {}
	if turn != nil {
		end = turn()
	}
	begin := time.Now()
	done, idle, err := e.runRound(ops, span)
	took = time.Since(begin) - idle
	end()
	if err == nil && e.Check != nil {
		err = e.Check(done)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", e.Name, err)
	}
	return done, took, nil
}

// runRound runs the operations in the entrant's goroutines, and returns how many were done and
// how much of the time does not count.
func (e *Entrant) runRound(ops int, span time.Duration) (done int, idle time.Duration, failed error) {
	var (
		next, finished atomic.Int64
		waited         atomic.Int64
		late           atomic.Bool
		wg             sync.WaitGroup
		mu             sync.Mutex
	)
	if span > 0 {
		ops = math.MaxInt
		defer time.AfterFunc(span, func() { late.Store(true) }).Stop()
	}
	for g := range max(e.Goroutines, 1) {
		wg.Go(func() {
			w := Worker{Rand: rand.New(rand.NewPCG(rand.Uint64(), uint64(g)))}
			n, err := e.runWorker(&w, &next, ops, &late)
			finished.Add(int64(n))
			waited.Add(int64(w.Idle))
			mu.Lock()
			failed = errors.Join(failed, err)
			if e.times != nil {
				e.times.Merge(&w.times)
			}
			mu.Unlock()
		})
	}
	wg.Wait()
	return int(finished.Load()), time.Duration(waited.Load()), failed
}

// runWorker runs operations until all workers together have done ops, or the time is over.
func (e *Entrant) runWorker(w *Worker, next *atomic.Int64, ops int, late *atomic.Bool) (done int, err error) {
	for !late.Load() {
		if w.N = int(next.Add(1)) - 1; w.N >= ops {
			break
		}
		if err := e.runOp(w, done); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

// runOp runs an operation of a worker that has done so many.
func (e *Entrant) runOp(w *Worker, done int) error {
	if e.times == nil || done%e.every != 0 {
		return e.Op(w)
	}
	begin := time.Now()
	err := e.Op(w)
	w.times.Add(time.Since(begin))
	return err
}
