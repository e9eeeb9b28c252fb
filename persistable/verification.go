// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
)

// Verification is the last verification with [VerifyOptions].Workers of a store, of all
// processes together. The zero value says that there was none.
type Verification struct {
	Report               // what was found so far
	Done       bool      // it has ended: the report is complete
	Began      time.Time // by the clock of the process that began it
	Ranges     int       // into which records and entries are divided; 0 if it is done
	RangesDone int       // of Ranges
	Workers    int       // that have claimed a range, in all processes
	// Remaining is how long so many workers still need, if they go on as they did until
	// now; 0 if that is not known yet.
	Remaining time.Duration
}

// verification is a verification that several processes share: a [worklist.Job].
type verification struct {
	*source
	options VerifyOptions
	id      []byte       // of the verification in the database
	stored  atomic.Int64 // faults that attempts of this process have stored
}

// mostStored bounds the faults that a process stores.
const mostStored = 4 * maxFaults

// run takes part in the verification of the store that is under way, or begins one. It returns the
// report of all processes.
func (v *verification) run(ctx context.Context) (Report, error) {
	found, err := v.begin(ctx)
	if err != nil || !found {
		return Report{}, err
	}
	worklist.Reach(ctx, verificationBegun)
	err = worklist.NewRun(v, v.workOptions()).Work(ctx)
	if err == nil {
		worklist.Reach(ctx, verificationEmptied)
		err = v.finish(ctx)
	}
	if err != nil {
		return v.partialReport(ctx), err
	}
	now, found, err := v.read(ctx)
	if err == nil && !found {
		err = v.replaced()
	}
	return now.Report, err
}

// The stages of a verification with workers, in addition to those of package worklist.
const (
	verificationBegun   worklist.Stage = "verification-begun"
	verificationEmptied worklist.Stage = "verification-emptied"
)

func (v *verification) workOptions() worklist.Options {
	b := v.options.Build
	b.Workers = v.options.Workers
	o := b.workOptions(v.place.db.options.BuildBatch, 1)
	if report := v.options.Progress; report != nil {
		o.Progress = func(ranges []worklist.Range) {
			if sum, err := sumResults(ranges); err == nil {
				report(sum.report())
			}
		}
	}
	return o
}

// replaced is the error of a verification that is not there any more.
func (v *verification) replaced() error {
	return fmt.Errorf("persistable: %s: another verification has begun since, and replaced this one: wait for it, or verify again", v.record.Type)
}

// partialReport returns what was found until an error, even if ctx has ended.
func (v *verification) partialReport(ctx context.Context) Report {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	now, _, _ := v.read(ctx)
	return now.Report
}

// begin finds the verification that is under way, or writes the list of one. It reports false if there
// is no store.
func (v *verification) begin(ctx context.Context) (found bool, err error) {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	err = v.db.transact(ctx, func(t *transaction) error {
		found = false
		o, err := t.openStore(ctx, v.place)
		if err != nil || o == nil {
			return err
		}
		found = true
		if err := o.directory.Protect(t.writer); err != nil {
			return err
		}
		keys := newVerificationKeys(o, v.place)
		h, err := keys.readHead(ctx, t.writer)
		if err != nil {
			return err
		}
		if h != nil && !h.done && h.repair == v.options.Repair {
			v.id = h.id
			return nil
		}
		v.id = id
		keys.clear(t.writer)
		return v.writeList(ctx, t, o, keys)
	})
	return found, err
}

// writeList writes a verification that has not begun.
func (v *verification) writeList(ctx context.Context, t *transaction, o *openStore, keys verificationKeys) error {
	steps := v.steps(o)
	for _, s := range steps {
		ranges, err := s.split(ctx, t.writer, int64(orDefault(v.options.Build.RangeBytes, 1<<20)), max(int64(worklist.MaxRanges/len(steps)), 1))
		if err != nil {
			return err
		}
		for i := range ranges {
			keys.list().Write(t.writer, &ranges[i])
		}
	}
	return keys.writeHead(t.writer, &verificationHead{id: v.id, repair: v.options.Repair, began: time.Now()})
}

// Transact implements [worklist.Job].
func (v *verification) Transact(ctx context.Context, fn func(worklist.Transaction) error) error {
	memory := new(verifyMemory)
	return v.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, v.place)
		if err != nil || o == nil {
			return err
		}
		return fn(&verifyTransaction{v, t, o, newVerificationKeys(o, v.place), memory})
	})
}

// Read implements [worklist.Job].
func (v *verification) Read(ctx context.Context, fn func(kv.ReadTransaction, worklist.List) error) error {
	return v.readOnly(ctx, func(reader kv.ReadTransaction, keys verificationKeys, h *verificationHead) error {
		if h.done || !bytes.Equal(h.id, v.id) {
			return nil
		}
		return fn(reader, keys.list())
	})
}

// readOnly runs fn with the head, unless there is none.
func (v *verification) readOnly(ctx context.Context, fn func(kv.ReadTransaction, verificationKeys, *verificationHead) error) error {
	return v.db.readOnly(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, v.place)
		if err != nil || o == nil {
			return err
		}
		keys := newVerificationKeys(o, v.place)
		h, err := keys.readHead(ctx, t.Reader)
		if err != nil || h == nil {
			return err
		}
		return fn(t.Reader, keys, h)
	})
}

// finish replaces the ranges, of which nothing is left, by their result, unless another process has.
func (v *verification) finish(ctx context.Context) error {
	return v.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, v.place)
		if err != nil || o == nil {
			return err
		}
		keys := newVerificationKeys(o, v.place)
		h, err := keys.readHead(ctx, t.writer)
		switch {
		case err != nil:
			return err
		case h == nil || !bytes.Equal(h.id, v.id):
			return v.replaced()
		case h.done:
			return nil
		}
		ranges, err := keys.list().ReadAll(ctx, t.writer)
		if err != nil {
			return err
		}
		if !worklist.AllDone(ranges) {
			return errors.New("persistable: the work list of a verification changed while it was completed: verify again")
		}
		if h.result, err = sumResults(ranges); err != nil {
			return err
		}
		h.done = true
		t.writer.ClearRange(keys.list().Keys())
		return keys.writeHead(t.writer, h)
	})
}

// read returns what the database has of the verification with v's id, or without an id of
// the last one. It reports false if that is not there.
func (v *verification) read(ctx context.Context) (now Verification, found bool, err error) {
	err = v.readOnly(ctx, func(reader kv.ReadTransaction, keys verificationKeys, h *verificationHead) error {
		now = Verification{Done: h.done, Began: h.began}
		if found = v.id == nil || bytes.Equal(h.id, v.id); !found {
			return nil
		}
		result := h.result
		if !h.done {
			ranges, err := keys.list().ReadAll(ctx, reader)
			if err != nil {
				return err
			}
			p := worklist.NewProgress(ranges)
			now.Ranges, now.RangesDone, now.Workers, now.Remaining = p.Ranges, p.RangesDone, p.Workers, p.Remaining
			if result, err = sumResults(ranges); err != nil {
				return err
			}
		}
		now.Report = result.report()
		return keys.readFaults(ctx, reader, &now.Report)
	})
	return now, found, err
}
