// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// Sequence gives the IDs of an increment key or a formatted key; see [Client.Increment] and
// [Client.Formatted].
type Sequence[T int64 | string] struct {
	chain[T]
	key string
}

func newIncrement(c *Client, key string) *Sequence[int64] {
	h := &Sequence[int64]{key: key}
	h.init(c, (&numbers{client: c, key: key, order: order{any: c.options.AnyOrder}}).fetchBeyond)
	return h
}

func newFormatted(c *Client, key string) *Sequence[string] {
	h := &Sequence[string]{key: key}
	h.age = max(c.options.FormattedAge, 0)
	h.init(c, func(ctx context.Context, size int) ([]string, error) {
		return requestIDs(ctx, c, "/v1/id/formatted", key, size, readTexts)
	})
	return h
}

// Next returns the next ID, in the order in which the service gave them. It looks at ctx only while it
// waits for the service. Errors are a [*RequestError], [ErrOrder], [ErrClosed], or the cause of ctx's end.
func (h *Sequence[T]) Next(ctx context.Context) (T, error) {
	s := h.current.Load()
	i := s.next.Add(1)
	if i > int64(len(s.ids)) {
		return h.takeNext(ctx, s)
	}
	if i == s.half {
		h.refillAhead()
	}
	return s.ids[i-1], nil
}

// NextN fills dst with the next IDs, in their order, and returns how many it gave:
// all, unless it returns an error. Errors are those of [Sequence.Next].
func (h *Sequence[T]) NextN(ctx context.Context, dst []T) (int, error) { return h.nextN(ctx, dst) }

// String names the key.
func (h *Sequence[T]) String() string { return fmt.Sprintf("client.Sequence(%q)", h.key) }

// numbers fetches the IDs of an increment key.
type numbers struct {
	client *Client
	key    string
	order  order
}

// maxDiscards bounds the answers in a row that have no ID beyond those given
// already.
const maxDiscards = 1000

// fetchBeyond requests IDs until some are beyond those given already. The first time it requests
// two at least: one alone does not tell whether the IDs increase.
func (h *numbers) fetchBeyond(ctx context.Context, size int) ([]int64, error) {
	if h.order.step == 0 && !h.order.any {
		size = max(size, 2)
	}
	for range maxDiscards {
		ids, err := requestIDs(ctx, h.client, "/v1/id/increment", h.key, size, readNumbers)
		if err != nil {
			return nil, err
		}
		fresh, err := h.order.keepBeyond(ids)
		if err != nil {
			return nil, &RequestError{Method: http.MethodGet, Path: "/v1/id/increment", Key: h.key, Tries: 1, Err: err}
		}
		h.client.count.discarded.Add(int64(len(ids) - len(fresh)))
		if len(fresh) > 0 {
			return fresh, nil
		}
		size = maxSize
	}
	return nil, fmt.Errorf("%w: key %q, %d answers in a row", ErrOrder, h.key, maxDiscards)
}

// order leaves out IDs that come before earlier ones. Only one goroutine at a time uses it.
type order struct {
	any   bool  // nothing is left out
	step  int64 // 1: IDs increase, -1: they decrease, 0: not known yet
	last  int64
	begun bool // last is set
}

// keepBeyond returns those of the IDs that are beyond the last.
func (o *order) keepBeyond(ids []int64) ([]int64, error) {
	step, err := direction(ids)
	switch {
	case err != nil:
		return nil, err
	case o.any:
		return ids, nil
	case step != 0 && step != o.step:
		o.step = step
	case o.step == 0 && o.begun:
		o.step, _ = direction([]int64{o.last, ids[0]})
	}
	for len(ids) > 0 && o.begun && (ids[0] == o.last || (ids[0] > o.last) != (o.step > 0)) {
		ids = ids[1:]
	}
	if len(ids) > 0 {
		o.last, o.begun = ids[len(ids)-1], true
	}
	return ids, nil
}

// direction returns 1 if the IDs strictly increase, -1 if they strictly decrease,
// 0 if there is only one.
func direction(ids []int64) (step int64, err error) {
	for i := 1; i < len(ids); i++ {
		up := int64(1)
		if ids[i] < ids[i-1] {
			up = -1
		}
		if ids[i] == ids[i-1] || step != 0 && up != step {
			return 0, &answerError{http.StatusOK, fmt.Sprintf("%d comes after %d: the IDs neither increase nor decrease", ids[i], ids[i-1]), nil}
		}
		step = up
	}
	return step, nil
}

func readNumbers(data json.RawMessage) ([]int64, error) {
	var n api.Numbers
	err := json.Unmarshal(data, &n)
	return either(n.ID, n.IDs), err
}

// either returns the IDs of the specification's dialect, or those of the deployed worker's.
func either[T any](id, ids []T) []T {
	if id == nil {
		return ids
	}
	return id
}

// requestIDs requests IDs of a key, or fewer if the key has fewer left.
func requestIDs[T any](ctx context.Context, c *Client, path, key string, size int, read func(json.RawMessage) ([]T, error)) (ids []T, err error) {
	for ; ; size /= 2 {
		err = c.send(ctx, request{
			method: http.MethodGet, path: path, query: url.Values{"key": {key}, "size": {strconv.Itoa(size)}},
			read: func(data json.RawMessage) (err error) {
				if ids, err = read(data); err == nil && (len(ids) < 1 || len(ids) > size) {
					err = fmt.Errorf("there are %d IDs; the request was for %d", len(ids), size)
				}
				return err
			},
		})
		if size == 1 || !errors.Is(err, ErrExhausted) {
			return ids, err
		}
	}
}

func readTexts(data json.RawMessage) ([]string, error) {
	var t api.Texts
	err := json.Unmarshal(data, &t)
	return either(t.ID, t.IDs), err
}

// segment has IDs that callers take by an atomic counter, without a lock.
type segment[T any] struct {
	ids  []T
	half int64 // when so many were given, the chain fetches more
	_    [64]byte
	next atomic.Int64 // how many were requested; it may go beyond the IDs
	_    [64]byte     // next has a cache line of its own
}

func newSegment[T any](ids []T) *segment[T] {
	return &segment[T]{ids: ids, half: int64(max(len(ids)/2, 1))}
}

// takeN copies IDs to dst, and returns how many; it reports whether half of
// the segment was passed.
func (s *segment[T]) takeN(dst []T) (n int, half bool) {
	end := s.next.Add(int64(len(dst)))
	begin := end - int64(len(dst))
	if begin >= int64(len(s.ids)) {
		return 0, false
	}
	return copy(dst, s.ids[begin:]), begin < s.half && s.half <= end
}
