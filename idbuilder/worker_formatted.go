// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

// Formatted appends the next size IDs of a formatted key to dst. The error is a
// [*api.Error] or the store's.
func (w *Worker) Formatted(ctx context.Context, dst []string, key string, size int) ([]string, error) {
	e, s, _, err := w.keyOfType(ctx, key, idconfig.TypeFormatted)
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
		q, err := w.sequenceOf(s, i, now)
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

// serveFormatted answers GET /v1/id/formatted.
func (w *Worker) serveFormatted(c *call) error {
	p, err := parseParams(c.r.URL.RawQuery, "key", "name", "size", "count")
	if err != nil {
		return err
	}
	e, s, err := c.authorize(w, p.key, idconfig.TypeFormatted)
	if err != nil {
		return err
	}
	ids, err := w.makeFormatted(c.requestContext(), e, s, nil, p.size)
	if err != nil {
		return err
	}
	return c.sendData(api.Texts{ID: ids, IDs: ids})
}
