// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

// requestLimits returns the limits of the request that follows so many others:
// enough for extra rows that will not be among the result, and for as many as a
// selector counts.
func requestLimits(l rangeread.Limits, extra, counted, requests int) rangeread.Limits {
	l.Least = max(1+extra, counted)
	enough := max(max(1, l.Rows)+extra, counted)
	if l.Rows != rangeread.Unlimited {
		l.Rows = enough
	}
	switch {
	case l.Bytes == 0:
		l.Rows, l.Bytes = enough, rangeread.Unlimited
	case l.Bytes != rangeread.Unlimited:
		l.Bytes = min(l.Bytes<<min(requests, 20), rangeread.ReplyBytes)
	}
	return l
}

// serverReply is what a request to the storage servers tells.
type serverReply struct {
	pairs     []kv.KeyValue // in the order in which they were asked for, behind those that were there before
	low, high []byte        // of the pairs; nil: there are none
	more      bool
	toBegin   bool
	toEnd     bool
}

// serverRequest is an answer in the making.
type serverRequest struct {
	overlay    *overlay
	batch      rangeread.Builder
	left       rangeread.Limits
	begin, end []byte
	whole      bool // a selector left the keys of its server
	strange    int  // keys of the system behind those that can be read, which FoundationDB counts and leaves out
}

// strangeKey stands for the keys of the system, which begin with it, and
// strangePair is about the size of their pairs.
var strangeKey = []byte("\xff\x02")

const strangePair = 64

// run reads pairs until the limits are reached or there are no more. A reply that
// was cut off is all there is to an answer that is limited in bytes. Where a
// selector left the keys of its server, FoundationDB's client asks for what lies
// between the resolved keys, and so knows that nothing is left when a reply that
// was cut off has come to the end of that.
func (a *serverRequest) run(f *serverReply, reverse bool) {
	a.batch.CountAlso(&a.left)
	for {
		f.more = a.reply(f, reverse)
		switch satisfied := a.left.Bytes != rangeread.Unlimited && a.left.Least == 0; {
		case a.left.Reached():
			f.more = true
			return
		case f.more && a.whole && a.strange == 0 && bytes.Compare(a.begin, a.end) >= 0:
			f.more = false
			return
		case !f.more || satisfied || a.overlay.err != nil:
			return
		}
	}
}

// replyLimits returns how much a server is asked to send at a time. Once the bytes
// are used up it is asked for the rows that are still missing, whatever their size.
func replyLimits(l rangeread.Limits) (rows, size int) {
	rows, size = rangeread.ReplyBytes, rangeread.ReplyBytes
	switch {
	case l.Bytes == 0:
		return l.Least, size
	case l.Bytes != rangeread.Unlimited:
		size = min(size, l.Bytes)
	}
	if l.Rows != rangeread.Unlimited {
		rows = min(rows, l.Rows)
	}
	return rows, size
}

// reply reads as much as a server sends at a time and reports whether that was
// cut off.
func (a *serverRequest) reply(f *serverReply, reverse bool) (cut bool) {
	g := &a.batch
	rows, size := replyLimits(a.left)
	if g.SetLimits(rows, size); rows <= 0 || size <= 0 {
		return true
	}
	if reverse && a.replyStrange(f) {
		return true
	}
	before := g.Len()
	full := bytes.Compare(a.begin, a.end) < 0 && a.overlay.gather(a.begin, a.end, g, reverse)
	if g.Len() > before && reverse {
		a.end = g.LastKey()
	} else if g.Len() > before {
		a.begin = keys.Successor(g.LastKey())
	}
	if !full && !reverse {
		return a.replyStrange(f)
	}
	return full
}

// replyStrange counts keys of the system to the reply and reports whether that
// was cut off.
func (a *serverRequest) replyStrange(f *serverReply) (cut bool) {
	for a.strange > 0 {
		a.strange--
		f.note(strangeKey)
		if a.batch.Count(strangePair) {
			return true
		}
	}
	return false
}

// note adds a key to those that were answered.
func (f *serverReply) note(key []byte) {
	f.low = minOf(f.low, key)
	f.high = keys.Max(f.high, key)
}

// minOf is minKey where a may be nil, which is no key.
func minOf(a, b []byte) []byte {
	if a == nil {
		return b
	}
	return keys.Min(a, b)
}
