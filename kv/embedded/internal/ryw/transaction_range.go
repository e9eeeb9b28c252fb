// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

func (t *Transaction) getRange(req kv.BatchRequest, snapshot bool) kv.Future[kv.Batch] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if answered, err := t.checkRange(&req); answered || err != nil {
		return kv.Resolved(kv.Batch{}, err)
	}
	t.read = true
	long := req.Mode == kv.ModeExact && req.Limit > atOnce/2 || isFar(req.Begin.Offset) || isFar(req.End.Offset)
	return answer(t, snapshot, long, func(s *overlay) (batchRead, error) { return s.readBatch(req) },
		func(s *overlay, b batchRead) (kv.Batch, error) {
			if !snapshot {
				if err := t.addBatchRead(s.writes, b); err != nil {
					return kv.Batch{}, err
				}
			}
			return kv.Batch{KVs: b.kvs, More: b.more}, nil
		})
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
		s.Key, s.OrEqual = keyBehind(s.Key), false
	}
	return s
}

// keyBehind returns the first key behind key. No key follows the end of all keys:
// FoundationDB's keyAfter returns it as it is.
func keyBehind(key []byte) []byte {
	if bytes.Equal(key, keys.SystemEnd) {
		return keys.SystemEnd
	}
	return keys.Successor(key)
}
