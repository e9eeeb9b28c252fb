// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
)

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
