// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// reader reads for a transaction and for its snapshot view.
type reader struct {
	t        *transaction
	snapshot bool
}

// attempt returns the attempt in which to make a read. One that is not plain is
// made in the transaction's own: special keys show the transaction that they are
// read in, and what the client answers or refuses without a read does not fix the
// read version, unless the read may be weak.
func (r reader) attempt(plain bool) (*attempt, error) {
	if plain {
		return r.t.attemptForRead()
	}
	a, err := r.t.usableAttempt()
	if err == nil && r.t.mayBeWeak() {
		r.t.fix(a)
	}
	return a, err
}

// readKind is what a result tells of the version that its attempt reads at.
type readKind int

const (
	noRead      readKind = iota // nothing
	ofData                      // it is of the version, or of the transaction's own writes
	withVersion                 // it arrives with the version
)

// kindOf returns the kind of a read that begins at a key. Special keys show the client.
func kindOf(key []byte) readKind {
	switch {
	case bytes.HasPrefix(key, []byte("\xff\xff")):
		return noRead
	case string(key) == kv.MetadataVersionKey:
		return withVersion
	}
	return ofData
}

// isUserKey reports whether key can be one of a user.
func isUserKey(key []byte) bool { return string(key) < userEnd && len(key) <= kv.MaxKeySize }

// userEnd is after all keys of users.
const userEnd = "\xff"

// isPlain reports whether the client has to read for a batch.
func isPlain(req kv.BatchRequest) bool {
	begin, end := req.Begin.Key, req.End.Key
	return isUserKey(begin) && string(end) <= userEnd && len(end) <= kv.MaxKeySize && string(begin) < string(end) &&
		req.Limit >= 0 && (req.Limit > 0 || req.Mode != kv.ModeExact)
}

// Get implements [kv.ReadTransaction].
func (r reader) Get(key []byte) kv.Future[[]byte] {
	a, err := r.attempt(isUserKey(key) || string(key) == kv.MetadataVersionKey)
	if err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	if a.group != nil {
		return r.getShared(a, key)
	}
	return awaitRead(a, kindOf(key), a.get(key, r.snapshot), "Get", takeValue)
}

// GetKey implements [kv.ReadTransaction].
func (r reader) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	a, err := r.attempt(isUserKey(sel.Key) && len(sel.Key) > 0)
	if err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	if a.group != nil {
		sel.Key = bytes.Clone(sel.Key)
		return readShared(r, a, func(h *handle, snapshot bool) *cFuture { return h.getKey(sel, snapshot) }, "GetKey", takeKey)
	}
	return awaitRead(a, kindOf(sel.Key), a.getKey(sel, r.snapshot), "GetKey", takeKey)
}

// GetRange implements [kv.ReadTransaction]. Each batch is one call of the client
// in the mode asked for, so it costs the round trips that the client decides on,
// and the next is asked for when the one before is used up.
func (r reader) GetRange(keys kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return kv.StreamRange(keys, o, r.batch)
}

func (r reader) batch(req kv.BatchRequest) kv.Future[kv.Batch] {
	a, err := r.attempt(isPlain(req))
	if err != nil {
		return kv.Resolved(kv.Batch{}, err)
	}
	mode, ok := streamingModes[req.Mode]
	if !ok {
		return kv.Resolved(kv.Batch{}, newError(kv.CodeClientInvalidOperation, "GetRange: no such streaming mode"))
	}
	if a.group != nil { // the keys of req are its own
		return readShared(r, a, func(h *handle, snapshot bool) *cFuture { return h.getRange(req, mode, snapshot) }, "GetRange", takeBatch)
	}
	return awaitRead(a, kindOf(req.Begin.Key), a.getRange(req, mode, r.snapshot), "GetRange", takeBatch)
}

// GetReadVersion implements [kv.ReadTransaction].
func (r reader) GetReadVersion() kv.Future[int64] {
	a, err := r.t.attemptForRead()
	if err != nil {
		return kv.Resolved(int64(0), err)
	}
	if a.group != nil {
		return awaitShared(a, (*handle).readVersion, "GetReadVersion", takeNumber)
	}
	return awaitRead(a, withVersion, a.readVersion(), "GetReadVersion", takeNumber)
}

// GetEstimatedRangeSizeBytes implements [kv.ReadTransaction]. What the client
// would fall over is answered here.
func (r reader) GetEstimatedRangeSizeBytes(keys kv.KeyRange) kv.Future[int64] {
	a, err := r.t.usableAttempt()
	if err == nil {
		err = kv.CheckSizeRange(keys)
	}
	if err != nil {
		return kv.Resolved(int64(0), err)
	}
	if bytes.Equal(keys.Begin, keys.End) {
		return kv.Resolved(int64(0), nil)
	}
	return await(a, a.estimatedSize(keys), "GetEstimatedRangeSizeBytes", takeNumber)
}

// GetRangeSplitPoints implements [kv.ReadTransaction].
func (r reader) GetRangeSplitPoints(keys kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	a, err := r.t.usableAttempt()
	if err == nil {
		err = kv.CheckSplitPoints(keys, chunkSize)
	}
	if err != nil {
		return kv.Resolved[[][]byte](nil, err)
	}
	if bytes.Equal(keys.Begin, keys.End) {
		return kv.Resolved([][]byte{bytes.Clone(keys.Begin)}, nil)
	}
	return await(a, a.splitPoints(keys, chunkSize), "GetRangeSplitPoints", takeKeys)
}

// snapshot is the snapshot view of a transaction.
type snapshot struct{ reader }

var _ kv.ReadTransaction = snapshot{}

// ReadTransact implements [kv.ReadTransactor].
func (s snapshot) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(s)
}

// SetOptions implements [kv.ReadTransaction].
func (s snapshot) SetOptions(o kv.TransactionOptions) error { return s.t.SetOptions(o) }

// Snapshot implements [kv.ReadTransaction].
func (s snapshot) Snapshot() kv.ReadTransaction { return s }

// awaitShared returns the future of a call that is made when the group has
// started. call must copy what it is made with.
func awaitShared[T any](a *attempt, call func(*handle) *cFuture, what string, take func(*cFuture) (T, cCode)) kv.Future[T] {
	p := &pendingResult[T]{attempt: a, owner: a.futures, what: what, take: take, kind: ofData, call: call}
	a.group.enqueue(a, p)
	return kv.NewFuture[T](p)
}

// readShared is awaitShared for a read, which is noted, and made as a snapshot
// read: in a group nothing conflicts.
func readShared[T any](r reader, a *attempt, call func(h *handle, snapshot bool) *cFuture, what string, take func(*cFuture) (T, cCode)) kv.Future[T] {
	if own := r.t.recordRead(sharedRead{call: call, snapshot: r.snapshot}); own != nil {
		return awaitRead(own, ofData, call(own.handle, r.snapshot), what, take)
	}
	return awaitShared(a, func(h *handle) *cFuture { return call(h, true) }, what, take)
}

// getShared is Get in a group. The metadata version is there once for all.
func (r reader) getShared(a *attempt, key []byte) kv.Future[[]byte] {
	if r.snapshot && string(key) == kv.MetadataVersionKey && r.t.recordRead(sharedRead{call: getMetadataVersion, snapshot: true}) == nil {
		return a.metadataVersion()
	}
	key = bytes.Clone(key)
	return readShared(r, a, func(h *handle, snapshot bool) *cFuture { return h.get(key, snapshot) }, "Get", takeValue)
}

func getMetadataVersion(h *handle, snapshot bool) *cFuture {
	return h.get([]byte(kv.MetadataVersionKey), snapshot)
}
