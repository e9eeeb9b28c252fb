// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
)

// Preview has the IDs that a configuration would give if it were saved now.
type Preview struct {
	// IDs are the next ones that this worker gives, if no request comes in between.
	// Random characters and distances are examples. Those of a snowflake key
	// are of the worker id 0 and the present millisecond. They are fewer than asked for, or
	// none, where the sequence ends.
	IDs []string
	// Refusal is why [Worker.SaveConfig] would refuse the configuration without force, or nil.
	Refusal *idconfig.ChangeError
}

// Refusal returns the reason for which [Worker.SaveConfig] refused a change without force; nil
// if the error is another one.
func Refusal(err error) *idconfig.ChangeError {
	var change *idconfig.ChangeError
	var layout *snowflake.ChangeError
	switch {
	case errors.As(err, &change):
		return change
	case errors.As(err, &layout):
		return &idconfig.ChangeError{Param: "base_ts", Reason: strings.TrimPrefix(layout.Error(), "snowflake: ")}
	}
	return nil
}

// Preview returns the next count IDs of a configuration. It need not be stored, and its key
// may be empty. Preview consumes nothing.
func (w *Worker) Preview(ctx context.Context, c *idconfig.Config, count int) (p Preview, err error) {
	var old *idconfig.Config
	if c.Key != "" {
		if old, err = w.storedConfig(ctx, c.Key); err != nil {
			return p, err
		}
	}
	if old != nil {
		err := w.checkChange(ctx, old, c)
		if p.Refusal = Refusal(err); err != nil && p.Refusal == nil {
			return p, err
		}
	}
	switch c.Type {
	case idconfig.TypeIncrement:
		err = w.previewIncrement(ctx, &p, old, c, count)
	case idconfig.TypeFormatted:
		err = w.previewFormatted(ctx, &p, c, count)
	case idconfig.TypeSnowflake:
		p.IDs = sampleSnowflakes(c.Snowflake, w.options.Now(), count)
	}
	return p, err
}

func (w *Worker) previewIncrement(ctx context.Context, p *Preview, old, c *idconfig.Config, count int) error {
	i := c.Increment
	var mine *sequence.Sequence
	if s := w.keys.stateOf(c.Key); s != nil && s.config.Increment != nil && s.config.Increment.Base == i.Base && s.config.Increment.Delta == i.Delta {
		mine = s.sequence
	}
	last, reserved, err := w.sequencePosition(ctx, c.Key, i.Base, mine)
	if err != nil {
		return err
	}
	if old != nil && old.Increment != nil {
		if i.Rewinds(old.Increment, reserved) {
			p.Refusal = cmp.Or(p.Refusal, rewindError(old.Increment, reserved))
			last = i.Base
		} else if i.Advances(old.Increment, reserved) {
			last = i.Base
		}
	}
	p.IDs = nextNumbers(i, last, count)
	return nil
}

// sequencePosition returns the number of a sequence after which this worker goes on, and the
// last number that any worker has reserved. Mine is the sequence in memory, or nil.
func (w *Worker) sequencePosition(ctx context.Context, name string, start int64, mine *sequence.Sequence) (last, reserved int64, err error) {
	if name == "" || name[0] == '#' {
		return start, start, nil // the configuration has no key yet
	}
	stored, err := w.store.Sequence(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return start, start, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("idbuilder: sequence %q: %w", name, err)
	}
	if mine != nil {
		if s := mine.State(); s.Given && s.Remaining > 0 {
			return s.Last, stored.Value, nil
		}
	}
	return stored.Value, stored.Value, nil
}

// nextNumbers returns the numbers that follow a number. Random distances are examples.
func nextNumbers(c *idconfig.Increment, last int64, count int) (ids []string) {
	random := rand.New(rand.NewPCG(1, 2))
	for range count {
		delta := c.Delta
		if c.RandDelta {
			delta = randomDelta(random, delta)
		}
		next := last + delta
		if (next > last) != (delta > 0) || next < c.Min || next > c.Max {
			break
		}
		ids, last = append(ids, strconv.FormatInt(next, 10)), next
	}
	return ids
}

// randomDelta returns a distance from 1 to delta, with the sign of delta.
func randomDelta(random *rand.Rand, delta int64) int64 {
	if delta < 0 {
		return -1 - random.Int64N(-delta)
	}
	return 1 + random.Int64N(delta)
}

func (w *Worker) previewFormatted(ctx context.Context, p *Preview, c *idconfig.Config, count int) error {
	f, now := c.Formatted.Format, w.options.Now()
	counters := f.Counters()
	numbers := make([]int64, len(counters))
	for i, counter := range counters {
		period := counter.Period(now)
		last, _, err := w.sequencePosition(ctx, idconfig.SequenceName(c.Key, i, period), 0, w.counterInMemory(c.Key, i, period))
		if err != nil {
			return err
		}
		numbers[i] = last
	}
	random := rand.NewChaCha8([32]byte{})
	for range count {
		for i := range numbers {
			if numbers[i] >= counters[i].Max {
				return nil
			}
			numbers[i]++
		}
		id, err := f.Append(nil, now, numbers, random)
		if errors.Is(err, format.ErrExhausted) || errors.Is(err, format.ErrBeforeBase) {
			return nil
		}
		if err != nil {
			return err
		}
		p.IDs = append(p.IDs, string(id))
	}
	return nil
}

// counterInMemory returns the sequence of the i-th counter of a formatted key in a
// period, if this worker has it in memory.
func (w *Worker) counterInMemory(key string, i int, period string) *sequence.Sequence {
	s := w.keys.stateOf(key)
	if s == nil || i >= len(s.counters) {
		return nil
	}
	if q := s.counters[i].current.Load(); q != nil && q.period == period {
		return q.Sequence
	}
	return nil
}

// sampleSnowflakes returns the first IDs of the worker id 0 in a millisecond.
func sampleSnowflakes(c *idconfig.Snowflake, now time.Time, count int) (ids []string) {
	first := uint64(now.UnixMilli()-c.BaseTS) << (c.WorkerIDSize + c.SeqSize)
	for n := range min(uint64(count), 1<<c.SeqSize) {
		ids = append(ids, strconv.FormatUint(first|n, 10))
	}
	return ids
}
