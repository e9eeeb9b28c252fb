// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/bench/measure"
)

// Footprint is the memory, disk and processor time that a process with one store and one kind
// of work needs.
type Footprint struct {
	Work, Store string
	Ops         int           // operations that were done
	Took        time.Duration // of the work
	Open        time.Duration // processor time of opening the store
	Processor   time.Duration // processor time of the work
	Memory      int64         // resident at the end, in bytes
	Peak        int64         // resident at most
	Disk        int64         // size of the files at the end, with the store open
	DiskPeak    int64         // at most, of looks each 200 ms
}

// FootprintOptions are the sizes of the works.
type FootprintOptions struct {
	Records int           // that are loaded
	Idle    time.Duration // without an operation
	Gets    time.Duration // of 64 goroutines
	Updates time.Duration // at 1,000 a second
}

const (
	updatesPerSecond = 1000
	updatedRecords   = 1000
)

// MeasureFootprint opens a store in a folder, does the work and closes it. The process must have
// done nothing before.
func MeasureFootprint(work, store, dir string, o FootprintOptions) (f Footprint, err error) {
	w, e, err := findFootprint(work, store)
	if err != nil {
		return f, err
	}
	f = Footprint{Work: work, Store: store, Open: -measure.ProcessorTime()}
	s, err := e.open(dir)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	f.Open += measure.ProcessorTime()
	stop := f.watchDisk(dir)
	begin := time.Now()
	f.Processor = -measure.ProcessorTime()
	f.Ops, err = w.run(s, o)
	f.Processor += measure.ProcessorTime()
	f.Took = time.Since(begin)
	return f, errors.Join(err, stop(), f.readMemory())
}

func findFootprint(work, store string) (w *footprintWork, e *footprintEntrant, err error) {
	for i := range footprintWorks {
		if footprintWorks[i].name == work {
			w = &footprintWorks[i]
		}
	}
	for _, entrant := range footprintEntrants() {
		if entrant.name == store {
			e = &entrant
		}
	}
	if w == nil || e == nil {
		return nil, nil, fmt.Errorf("no footprint measures the work %q with the store %q", work, store)
	}
	return w, e, nil
}

func (f *Footprint) readMemory() (err error) {
	var err2 error
	f.Memory, err = measure.Memory()
	f.Peak, err2 = measure.PeakMemory()
	return errors.Join(err, err2)
}

// watchDisk looks at the size of the files until stop is called.
func (f *Footprint) watchDisk(dir string) (stop func() error) {
	const often = 200 * time.Millisecond
	done, failed := make(chan struct{}), make(chan error)
	look := func() (err error) {
		f.Disk, err = measure.DiskUse(dir)
		f.DiskPeak = max(f.DiskPeak, f.Disk)
		return err
	}
	go func() {
		var err error
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			case <-time.After(often):
			}
			err = errors.Join(err, look())
		}
		failed <- err
	}()
	return func() error {
		close(done)
		return <-failed
	}
}

// getAll gets records at random in 64 goroutines.
func getAll(s *anyStore, o FootprintOptions) (int, error) {
	e := measure.Entrant{Name: "get", Goroutines: 64, Op: func(w *measure.Worker) error { return s.get(w, w.Rand.IntN(o.Records)) }}
	ops, _, err := e.Round(0, o.Gets, nil)
	return ops, err
}

// updateAll changes 1,000 records in turn, 1,000 a second, or fewer if the store is slower.
func updateAll(s *anyStore, o FootprintOptions) (int, error) {
	if err := s.load(updatedRecords); err != nil {
		return 0, err
	}
	var (
		wg     sync.WaitGroup
		next   atomic.Int64
		done   atomic.Int64
		mu     sync.Mutex
		failed error
		begin  = time.Now()
	)
	for range 16 {
		wg.Go(func() {
			for time.Since(begin) < o.Updates {
				n := int(next.Add(1))
				time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / updatesPerSecond)))
				if err := s.update(n%updatedRecords, n); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return int(done.Load()), failed
}
