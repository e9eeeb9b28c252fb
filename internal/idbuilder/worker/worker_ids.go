// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
)

// IncrementRequest asks for the next IDs of an increment key.
type IncrementRequest struct {
	Key  string
	Size int // 1 to 1000
	// Delta is the distance of two IDs; 0 means the configuration's. In a descending
	// sequence each ID is Delta less than the one before.
	Delta int64
	// RandDelta makes each distance random, from 1 to Delta; nil means as the
	// configuration says.
	RandDelta *bool
}

// Increment appends the next IDs of a key to dst. They increase strictly,
// or decrease if the key's step is negative; no worker gives one of them again.
// [Worker.APIError] tells what an error means.
func (w *Worker) Increment(ctx context.Context, dst []int64, r IncrementRequest) ([]int64, error) {
	e, s, _, err := w.keys.ofType(ctx, r.Key, idconfig.TypeIncrement)
	if err != nil {
		return dst, err
	}
	e.noteUse(time.Now())
	return w.takeNumbers(ctx, e, s, dst, r)
}

func (w *Worker) takeNumbers(ctx context.Context, e *keyEntry, s *keyState, dst []int64, r IncrementRequest) ([]int64, error) {
	c := s.config.Increment
	take := sequence.Request{Count: r.Size, Delta: c.Delta, Random: c.RandDelta}
	if r.Size < 1 || r.Size > maxSize {
		return dst, api.Errorf(api.SizeLimit, "size: it is %d; allowed are 1 to %d", r.Size, maxSize)
	}
	if r.Delta != 0 {
		if r.Delta < 1 || r.Delta > c.MaxRequestDelta {
			return dst, api.Errorf(api.DeltaLimit, "delta: it is %d; allowed are 1 to %d", r.Delta, c.MaxRequestDelta)
		}
		if take.Delta = r.Delta; c.Delta < 0 {
			take.Delta = -r.Delta
		}
	}
	if r.RandDelta != nil {
		take.Random = *r.RandDelta
	}
	ids, err := s.sequence.Take(ctx, dst, take)
	if err == nil {
		e.usage.given.Add(int64(r.Size))
	}
	return ids, err
}

// Formatted appends the next size IDs of a formatted key to dst. [Worker.APIError] tells what an
// error means.
func (w *Worker) Formatted(ctx context.Context, dst []string, key string, size int) ([]string, error) {
	e, s, _, err := w.keys.ofType(ctx, key, idconfig.TypeFormatted)
	if err != nil {
		return dst, err
	}
	e.noteUse(time.Now())
	return w.makeFormatted(ctx, e, s, dst, size)
}

// makeFormatted reads the clock once, so that dates and the periods of numbers agree.
func (w *Worker) makeFormatted(ctx context.Context, e *keyEntry, s *keyState, dst []string, size int) ([]string, error) {
	if size < 1 || size > maxSize {
		return dst, api.Errorf(api.SizeLimit, "size: it is %d; allowed are 1 to %d", size, maxSize)
	}
	now := w.options.Now()
	taken := make([][]int64, len(s.counters))
	for i := range s.counters {
		q, err := w.keys.sequenceOf(s, i, now)
		if err != nil {
			return dst, err
		}
		if taken[i], err = q.Take(ctx, nil, sequence.Request{Count: size, Delta: 1}); err != nil {
			return dst, err
		}
	}
	ids, err := appendIDs(dst, s.config.Formatted.Format, now, taken, size)
	if err != nil {
		return dst, formatError(s.config.Key, err)
	}
	e.usage.given.Add(int64(size))
	return ids, nil
}

// appendIDs appends IDs with the numbers of each counter.
func appendIDs(dst []string, f *format.Format, now time.Time, taken [][]int64, size int) ([]string, error) {
	random := bufio.NewReaderSize(rand.Reader, 512)
	numbers := make([]int64, len(taken))
	var text []byte
	for n := range size {
		for i := range taken {
			numbers[i] = taken[i][n]
		}
		var err error
		if text, err = f.Append(text[:0], now, numbers, random); err != nil {
			return dst, err
		}
		dst = append(dst, string(text))
	}
	return dst, nil
}

func formatError(key string, err error) error {
	switch {
	case errors.Is(err, format.ErrExhausted):
		return &api.Error{Code: api.Exhausted, Message: fmt.Sprintf("the sequence of %q is exhausted: its numbers do not fit the length of their part", key), Err: err}
	case errors.Is(err, format.ErrBeforeBase):
		return &api.Error{Code: api.Unavailable, Message: "the clock of the service is before the base of the timestamp part", Err: err}
	}
	return err
}

// leaseWorkerID leases a worker id of a snowflake key to a client, or renews its lease.
func (w *Worker) leaseWorkerID(ctx context.Context, e *keyEntry, s *keyState, client snowflake.Client) (api.Snowflake, error) {
	c := s.config.Snowflake
	g, err := w.leases.Lease(ctx, leaseKey(s.config), client)
	if err != nil {
		return api.Snowflake{}, w.leaseError(err)
	}
	e.usage.given.Add(1)
	return api.Snowflake{
		SkipSize: c.SkipSize, BaseTS: c.BaseTS, TSSize: c.TSSize, WorkerID: g.WorkerID, WorkerIDSize: c.WorkerIDSize, SeqSize: c.SeqSize,
		Epoch: c.BaseTS, WorkerBits: c.WorkerIDSize, SequenceBits: c.SeqSize,
		LeaseKey: g.LeaseKey, LeaseDuration: g.Duration.Seconds(), LeaseStart: g.NotBefore.UnixMilli(), LeaseExpires: g.Expires.UnixMilli(),
	}, nil
}

// QuarantineWorkerIDs stops leases of worker ids of all snowflake keys until all leases have
// ended that the store may have lost. Call it when an operator has confirmed a
// loss, see [store.ErrLost]. It returns how many keys there are. What cannot be read is
// named in the error, after it has stopped the leases of all others.
func (w *Worker) QuarantineWorkerIDs(ctx context.Context) (keys int, err error) {
	var unread []error
	o := store.ListOptions{Limit: 100}
	for more := true; more; {
		var page []ConfigEntry
		if page, more, err = w.Configs(ctx, o); err != nil {
			return keys, errors.Join(append(unread, err)...)
		}
		for _, c := range page {
			o.After = c.Key
			if c.Type != idconfig.TypeSnowflake {
				continue
			}
			err := c.Err
			if err == nil {
				err = w.leases.Quarantine(ctx, leaseKey(c.Config))
			}
			switch {
			case err == nil:
				keys++
			case snowflake.IsUnreadable(err):
				unread = append(unread, err)
			default:
				return keys, errors.Join(append(unread, err)...)
			}
		}
	}
	return keys, errors.Join(unread...)
}

// leaseError returns the answer for a client that cannot lease a worker id. A layout that is
// not yet in force is not the client's fault.
func (w *Worker) leaseError(err error) error {
	var change *snowflake.ChangeError
	if !errors.As(err, &change) {
		return err
	}
	return &api.Error{
		Code: api.Unavailable, Message: "the layout of the key was changed, and IDs of the layout before could come again; ask again later",
		RetryAfter: max(time.Second, change.Until.Sub(w.options.Now())), Err: err,
	}
}

// leaseKey returns the key as package snowflake has it.
func leaseKey(c *idconfig.Config) snowflake.Key {
	return snowflake.Key{Name: c.Key, Layout: layoutOf(c.Snowflake), Version: c.Version}
}

func layoutOf(c *idconfig.Snowflake) snowflake.Layout {
	return snowflake.Layout{SkipSize: c.SkipSize, BaseTS: c.BaseTS, TSSize: c.TSSize, WorkerIDSize: c.WorkerIDSize, SeqSize: c.SeqSize}
}
