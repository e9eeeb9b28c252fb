// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"

	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
)

// blobCheck is the reads of a content that a record must have.
type blobCheck struct {
	blob       format.FieldBlob
	head, last kv.Future[[]byte]
}

// beginBlobs starts to read the contents of a record that can be decoded: the head and the last chunk of each.
func (s *store) beginBlobs(b *batch, r *record) (checks []blobCheck) {
	fields := format.BlobFields(s.catalog.Schema())
	if len(fields) == 0 {
		return nil
	}
	payload, wrong := r.payload()
	if wrong != nil {
		return nil
	}
	blobs, err := format.ReadBlobs(payload, fields)
	if err != nil {
		return nil
	}
	keys := format.NewBlobKeys(s.prefix, s.typ)
	for _, one := range blobs {
		checks = append(checks, blobCheck{one, b.get(keys.Head(one.ID)), b.get(keys.Chunk(one.ID, one.Chunks()-1))})
	}
	return checks
}

// awaitBlobs waits for the contents of a record, and reports those that are missing.
func (s *store) awaitBlobs(ctx context.Context, b *batch, r *record, checks []blobCheck) error {
	for _, check := range checks {
		head, err := b.await(ctx, check.head)
		if err != nil {
			return err
		}
		last, err := b.await(ctx, check.last)
		if err != nil {
			return err
		}
		if reason := check.blob.Fault(r.id, head, last); reason != "" {
			s.reportRecord(b, r, newFault("record/missing-blob", r.key, "%s", reason))
		}
	}
	return nil
}

// checkUpload reports a content that is not attached to a record.
func (s *store) checkUpload(pair kv.KeyValue) Finding {
	u, err := format.DecodeUpload(pair.Value)
	if err != nil {
		return s.finding("store/bad-value", pair.Key, "%v", reasonOf(err))
	}
	return s.finding("store/unattached-blob", pair.Key, "%d bytes of content belong to no record", u.Size)
}
