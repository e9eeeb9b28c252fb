// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

func (t *Transaction) getRange(req kv.BatchRequest, snapshot bool) kv.Future[kv.Batch] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if answered, err := t.checkRange(&req); answered || err != nil {
		return kv.Resolved(kv.Batch{}, err)
	}
	t.read = true
	long := req.Mode == kv.ModeExact && req.Limit > atOnce/2 || isFar(req.Begin.Offset) || isFar(req.End.Offset)
	walk := func(s *overlay) (batchRead, error) { return s.readBatch(req) }
	note := func(s *overlay, b batchRead) (kv.Batch, error) {
		if !snapshot {
			if err := t.addBatchRead(s.writes, b); err != nil {
				return kv.Batch{}, err
			}
		}
		return kv.Batch{KVs: b.kvs, More: b.more}, nil
	}
	if alone, ok := t.isOnDisk(req.SelectorRange, snapshot); ok {
		s := newOverlay(t, snapshot)
		s.unshared = alone
		return answerLater(t, s, snapshot, walk, note)
	}
	return answer(t, snapshot, long, walk, note)
}

// isOnDisk reports whether a read of a range, without OrEqual, surely needs the disk: an
// attempt to make it at once would be in vain. alone says that neither own writes nor known
// keys concern the read. t.mu is held.
func (t *Transaction) isOnDisk(r kv.SelectorRange, snapshot bool) (alone, ok bool) {
	if t.settings.rywDisabled || r.Begin.Offset != 1 || r.End.Offset != 1 || bytes.Compare(r.Begin.Key, r.End.Key) >= 0 {
		return false, false
	}
	if w := t.ownWrites(snapshot); w != nil && !w.missesRange(r.Begin.Key, r.End.Key) {
		return false, false
	}
	v, err := t.currentView()
	alone = !t.known.overlaps(kv.KeyRange{Begin: r.Begin.Key, End: r.End.Key})
	return alone, err == nil && !v.InMemory()
}

// checkRange makes a request plain. It reports whether the range is empty
// whatever the database holds, or why it cannot be read.
func (t *Transaction) checkRange(req *kv.BatchRequest) (answered bool, err error) {
	if req.Mode == kv.ModeExact && (req.Limit == 0 || req.Limit == -1) {
		return true, kv.NewError(kv.CodeExactModeWithoutLimits, "ModeExact needs a Limit")
	}
	if isSpecial(req.Begin.Key) && isSpecial(req.End.Key) && t.fault == nil {
		_, err := rangeSpecial(*req)
		return true, err
	}
	if err := t.checkUsable(); err != nil {
		return true, err
	}
	end := t.settings.readEnd()
	for _, key := range [][]byte{req.Begin.Key, req.End.Key} {
		if bytes.Compare(key, end) > 0 {
			return true, outside(key)
		}
	}
	if req.Limit == -1 {
		req.Limit = 0 // FoundationDB's ROW_LIMIT_UNLIMITED
	}
	if req.Limit < 0 {
		return true, invalidLimit(req.Limit)
	}
	req.Begin.Key, req.End.Key = shorten(req.Begin.Key), shorten(req.End.Key)
	req.Begin, req.End = plain(req.Begin), plain(req.End)
	return nothingBetween(req.Begin, req.End), nil
}

func invalidLimit(limit int) error {
	return kv.NewError(kv.CodeRangeLimitsInvalid, "the limit is %d", limit)
}

// addBatchRead adds the read conflict ranges of a batch.
func (t *Transaction) addBatchRead(writes *writeMap, b batchRead) error {
	if f := b.first; f != nil {
		t.addSelectorRead(writes, f.sel, f.key, f.beyond)
	}
	if b.none {
		return nil
	}
	return t.addRangeResult(writes, b.req, b.rangeResult)
}

// plain returns the selector without OrEqual.
func plain(s kv.KeySelector) kv.KeySelector {
	if s.OrEqual {
		s.Key, s.OrEqual = keyAfter(s.Key), false
	}
	return s
}

// keyAfter returns the first key after key. No key follows the end of all keys:
// FoundationDB's keyAfter returns it as it is.
func keyAfter(key []byte) []byte {
	if bytes.Equal(key, keys.SystemEnd) {
		return keys.SystemEnd
	}
	return keys.Successor(key)
}

// GetEstimatedRangeSizeBytes implements [kv.ReadTransaction].
func (t *Transaction) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	if err := t.checkSizeQuery(kv.CheckSizeRange(r)); err != nil {
		return kv.Resolved(int64(0), err)
	}
	var size int64
	for _, bytes := range t.engine.Sample(r) {
		size += bytes
	}
	return kv.Resolved(size, nil)
}

// GetRangeSplitPoints implements [kv.ReadTransaction].
func (t *Transaction) GetRangeSplitPoints(r kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	err := t.checkSizeQuery(kv.CheckSplitPoints(r, chunkSize))
	if err == nil {
		err = t.checkSplitRange(r)
	}
	if err != nil {
		return kv.Resolved[[][]byte](nil, err)
	}
	points, part := [][]byte{bytes.Clone(r.Begin)}, int64(0)
	for key, size := range t.engine.Sample(r) {
		if part > 0 && part+size > chunkSize && !bytes.Equal(key, r.Begin) {
			points, part = append(points, bytes.Clone(key)), 0
		}
		part += size
	}
	if !bytes.Equal(r.Begin, r.End) {
		points = append(points, bytes.Clone(r.End))
	}
	return kv.Resolved(points, nil)
}

// checkSizeQuery returns fault, or why the transaction cannot be asked.
func (t *Transaction) checkSizeQuery(fault error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkUsable(); err != nil {
		return err
	}
	return fault
}

// checkSplitRange returns an error unless the range may be read.
func (t *Transaction) checkSplitRange(r kv.KeyRange) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return inLegalRange(r, t.settings.readEnd())
}

// requestLimits returns the limits of the request that follows so many others:
// enough for extra rows that will not be among the result, and for as many as a
// selector counts.
func requestLimits(l reads.Limits, extra, counted, requests int) reads.Limits {
	l.Least = max(1+extra, counted)
	enough := max(max(1, l.Rows)+extra, counted)
	if l.Rows != reads.Unlimited {
		l.Rows = enough
	}
	switch {
	case l.Bytes == 0:
		l.Rows, l.Bytes = enough, reads.Unlimited
	case l.Bytes != reads.Unlimited:
		l.Bytes = min(l.Bytes<<min(requests, 20), reads.ReplyBytes)
	}
	return l
}

// serverReply is the answer to a serverRequest.
type serverReply struct {
	pairs     []kv.KeyValue // in the order in which they were asked for, after those that were there before
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

	systemBegin, systemEnd int // of FoundationDB's own pairs in the range, by their places after all keys of users
}

// systemKeyStandIn stands for FoundationDB's own keys in the system space.
var systemKeyStandIn = []byte("\xff\x02")

// systemPairSizes are the sizes of FoundationDB's first pairs of its own, as 7.3 has them. The
// last is that of a pair of its time keeper, which all others are taken for.
var systemPairSizes = [...]int{27, 56, 26}

// readReplies reads until the limits are reached or there are no more pairs. An answer
// that is limited in bytes is one reply. Where a selector left the keys of its
// server, NativeAPI asks for what lies between the resolved keys: so it knows that
// nothing is left once a reply that was cut off has come to the end of that.
func (a *serverRequest) readReplies(f *serverReply, reverse bool) {
	left := a.overlay.builder.Client()
	for {
		f.more = a.readReply(f, reverse)
		switch satisfied := left.Bytes != reads.Unlimited && left.Least == 0; {
		case left.Reached():
			f.more = true
			return
		case f.more && a.whole && a.systemBegin >= a.systemEnd && bytes.Compare(a.begin, a.end) >= 0:
			f.more = false
			return
		case !f.more || satisfied || a.overlay.err != nil:
			return
		}
	}
}

// replyLimits returns how much a server is asked to send at a time. Once the bytes
// are used up it is asked for the rows that are still missing, whatever their size.
func replyLimits(l reads.Limits) (rows, size int) {
	rows, size = reads.ReplyBytes, reads.ReplyBytes
	switch {
	case l.Bytes == 0:
		return l.Least, size
	case l.Bytes != reads.Unlimited:
		size = min(size, l.Bytes)
	}
	if l.Rows != reads.Unlimited {
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
	if reverse && a.countSystemKeys(f, true) {
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
		return a.countSystemKeys(f, false)
	}
	return full
}

// countSystemKeys counts FoundationDB's own pairs against the limits, without adding
// them: a server sends them and the client drops them. It reports whether the reply
// was cut off.
func (a *serverRequest) countSystemKeys(f *serverReply, reverse bool) (cut bool) {
	for !cut && a.systemBegin < a.systemEnd {
		place := a.systemBegin
		if reverse {
			a.systemEnd--
			place = a.systemEnd
		} else {
			a.systemBegin++
		}
		f.noteKey(systemKeyStandIn)
		cut = a.overlay.builder.Count(systemPairSizes[min(place, len(systemPairSizes))-1])
	}
	return cut
}

// noteKey adds a key to those that were answered.
func (f *serverReply) noteKey(key []byte) {
	if f.low == nil || bytes.Compare(key, f.low) < 0 {
		f.low = key
	}
	f.high = keys.Max(f.high, key)
}
