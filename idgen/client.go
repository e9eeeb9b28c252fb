// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
)

// Client generates IDs, as the kazahana specification's client does.
//
// It runs in standalone mode: every ID is a fallback ID whose machine and
// sequence bits, 21 in the default layout, are one number. In each millisecond
// the number starts at a random value and goes up by one, so that the IDs of a
// Client strictly increase and never repeat. Two Clients that both make k IDs
// in the same millisecond share one of them with probability
//
//	((2k-1)·N - k·(k-1)) / N², about (2k-1)/N, where N = 2^21
//
// and expect k²/N equal IDs. Ten Clients that each make 100 IDs a second expect
// 19 equal pairs a day, a hundred that each make 1000 expect 204,000: standalone
// mode is for development, for one process, and where a second record under an
// ID is refused on creation. Where the numbers of a millisecond end before it
// does, the caller waits for the next one.
//
// All methods are safe for concurrent use, take no lock and do not allocate.
// An ID that a call returned is less than the ID of every call that began
// later.
type Client struct {
	layout Layout
	cursor cursor
}

// NewClient returns a generator. It starts nothing that would need closing.
// The error reports all faults of the options; see [Options.Validate].
func NewClient(opts Options) (*Client, error) {
	return newClient(opts, randomUint64)
}

func newClient(opts Options, random func() uint64) (*Client, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("idgen: new client: %w", err)
	}
	opts = opts.withDefaults()
	c := &Client{layout: opts.Layout}
	span := opts.Layout.fallbackBit()
	k := clock{now: opts.Now, layout: opts.Layout, maxBackward: *opts.MaxBackward}
	c.cursor.init(k, span, func() uint64 { return random() & (span - 1) })
	return c, nil
}

// Layout returns the layout of the IDs that the client makes.
func (c *Client) Layout() Layout { return c.layout }

// Next returns a new ID.
//
// It waits when all IDs of the current millisecond are used up, and when the
// clock was set back; see [Options.MaxBackward]. Only while it waits does it
// look at ctx. Errors are a [*ClockBackwardError], a [*TimeRangeError], or the
// cause of ctx's end.
func (c *Client) Next(ctx context.Context) (ID, error) {
	if id, ok := c.nextNow(); ok {
		return id, nil
	}
	first, _, err := c.cursor.take(ctx, 1)
	if err != nil {
		return 0, err
	}
	return c.compose(first), nil
}

// NextN fills ids with new IDs in ascending order and returns how many it
// made: all, unless it returns an error. The IDs need not be consecutive. It
// costs much less per ID than [Client.Next], and waits and fails like it.
func (c *Client) NextN(ctx context.Context, ids []ID) (int, error) {
	done := 0
	for done < len(ids) {
		want := uint64(min(len(ids)-done, maxTake))
		first, got := c.cursor.tryTake(want)
		if got == 0 {
			var err error
			if first, got, err = c.cursor.take(ctx, want); err != nil {
				return done, err
			}
		}
		id := c.compose(first)
		for i := range ids[done : done+int(got)] {
			ids[done+i] = id + ID(i)
		}
		done += int(got)
	}
	return done, nil
}

// nextNow returns an ID if the cursor is in the current millisecond.
func (c *Client) nextNow() (ID, bool) {
	first, got := c.cursor.tryTake(1)
	if got == 0 {
		return 0, false
	}
	return c.compose(first), true
}

// compose turns a word of the cursor into an ID: the same timestamp and
// number, closer together, with the fallback bit.
func (c *Client) compose(word uint64) ID {
	ts, n := word>>c.cursor.shift, word&c.cursor.mask
	return ID(ts<<c.layout.lowBits() | c.cursor.span | n)
}

// randomUint64 asks the operating system: copies of a virtual machine would
// continue a generator inside the process with the same numbers.
func randomUint64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return binary.LittleEndian.Uint64(b[:])
}
