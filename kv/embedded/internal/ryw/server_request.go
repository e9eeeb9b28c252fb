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

// serverReply is the answer to a serverRequest.
type serverReply struct {
	pairs     []kv.KeyValue // in the order in which they were asked for, behind those that were there before
	low, high []byte        // of the pairs; nil: there are none
	more      bool
	toBegin   bool
	toEnd     bool
}

// serverRequest answers a request as the storage servers and NativeAPI's getRange do
// together: in replies of limited size.
type serverRequest struct {
	overlay    *overlay
	begin, end []byte
	whole      bool // a selector left the keys of its server
	systemKeys int  // keys of the system behind those that can be read, which FoundationDB counts and leaves out
}

// systemKeyStandIn stands for the keys of FoundationDB's own in the system space, and
// systemPairSize is about the size of their pairs.
var systemKeyStandIn = []byte("\xff\x02")

const systemPairSize = 64

// readReplies reads until the limits are reached or there are no more pairs. An answer
// that is limited in bytes is one reply. Where a selector left the keys of its
// server, NativeAPI asks for what lies between the resolved keys: so it knows that
// nothing is left once a reply that was cut off has come to the end of that.
func (a *serverRequest) readReplies(f *serverReply, reverse bool) {
	left := a.overlay.builder.Client()
	for {
		f.more = a.readReply(f, reverse)
		switch satisfied := left.Bytes != rangeread.Unlimited && left.Least == 0; {
		case left.Reached():
			f.more = true
			return
		case f.more && a.whole && a.systemKeys == 0 && bytes.Compare(a.begin, a.end) >= 0:
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

// readReply reads as much as a server sends at a time and reports whether that was
// cut off.
func (a *serverRequest) readReply(f *serverReply, reverse bool) (cut bool) {
	g := a.overlay.builder
	rows, size := replyLimits(*g.Client())
	if g.SetLimits(rows, size); rows <= 0 || size <= 0 {
		return true
	}
	if reverse && a.countSystemKeys(f) {
		return true
	}
	before := g.Len()
	full := bytes.Compare(a.begin, a.end) < 0 && a.overlay.collectStored(a.begin, a.end, reverse)
	if g.Len() > before && reverse {
		a.end = g.LastKey()
	} else if g.Len() > before {
		a.begin = keys.Successor(g.LastKey())
	}
	if !full && !reverse {
		return a.countSystemKeys(f)
	}
	return full
}

// countSystemKeys counts FoundationDB's own keys against the limits, without adding
// them: a server sends them and the client drops them. It reports whether the reply
// was cut off.
func (a *serverRequest) countSystemKeys(f *serverReply) (cut bool) {
	for a.systemKeys > 0 {
		a.systemKeys--
		f.noteKey(systemKeyStandIn)
		if a.overlay.builder.Count(systemPairSize) {
			return true
		}
	}
	return false
}

// noteKey adds a key to those that were answered.
func (f *serverReply) noteKey(key []byte) {
	f.low = minOf(f.low, key)
	f.high = keys.Max(f.high, key)
}

// minOf returns the lower key; a nil a is none.
func minOf(a, b []byte) []byte {
	if a == nil {
		return b
	}
	return keys.Min(a, b)
}
