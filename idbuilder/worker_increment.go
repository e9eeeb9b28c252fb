// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
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
// or decrease if the key's step is negative; no worker gives one of them again. The error is a
// [*api.Error] or the store's.
func (w *Worker) Increment(ctx context.Context, dst []int64, r IncrementRequest) ([]int64, error) {
	e, s, _, err := w.keyOfType(ctx, r.Key, idconfig.TypeIncrement)
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

// serveIncrement answers GET /v1/id/increment.
func (w *Worker) serveIncrement(c *call) error {
	p, err := parseParams(c.r.URL.RawQuery, "key", "name", "size", "count", "delta", "rand_delta")
	if err != nil {
		return err
	}
	e, s, err := c.authorize(w, p.key, idconfig.TypeIncrement)
	if err != nil {
		return err
	}
	c.numbers, err = w.takeNumbers(c.requestContext(), e, s, c.numbers[:0], IncrementRequest{Key: p.key, Size: p.size, Delta: p.delta, RandDelta: p.random})
	if err != nil {
		return err
	}
	c.body = appendNumbers(c.body, c.numbers)
	return c.sendBody(http.StatusOK)
}

// maxExact is the largest number that JavaScript holds exactly.
const maxExact = 1<<53 - 1

// appendNumbers appends the answer with numbers, in both dialects.
func appendNumbers(b []byte, numbers []int64) []byte {
	b = append(b, `{"code":0,"message":"success","data":{"id":[`...)
	begin, large := len(b), false
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
		large = large || n > maxExact || n < -maxExact
	}
	list := b[begin:]
	b = append(b, `],"ids":[`...)
	b = append(append(b, list...), ']')
	if large {
		b = append(b, `,"id_str":["`...)
		for i, n := range numbers {
			if i > 0 {
				b = append(b, `","`...)
			}
			b = strconv.AppendInt(b, n, 10)
		}
		b = append(b, `"]`...)
	}
	return append(b, `}}`...)
}
