// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// blobChecks are the reads by which a batch of a verification finds records with contents that are not
// there, or not whole: of the head and of the last chunk, because what lies between goes with them.
type blobChecks struct {
	place  blobPlace
	reader kv.ReadTransaction
	list   []blobCheck
	bytes  int // that the reads take
}

type blobCheck struct {
	blob       format.FieldBlob
	key, id    []byte // of the record
	head, last kv.Future[[]byte]
}

// add starts the reads for the contents of a record.
func (c *blobChecks) add(q *query, g scan.Group) error {
	if len(c.place.fields) == 0 {
		return nil
	}
	s, err := q.parseGroup(g)
	if err != nil {
		return err
	}
	blobs, err := format.ReadBlobs(s.Payload, c.place.fields)
	for _, b := range blobs {
		c.list = append(c.list, blobCheck{
			blob: b, key: slices.Clone(g.Key), id: slices.Clone(g.ID),
			head: c.reader.Get(c.place.keys.Head(b.ID)), last: c.reader.Get(c.place.keys.Chunk(b.ID, b.Chunks()-1)),
		})
		c.bytes += int(min(b.Size, format.BlobChunk))
	}
	return err
}

// addFaults adds what the reads have found.
func (c *blobChecks) addFaults(ctx context.Context, part *verifyPart) error {
	for _, one := range c.list {
		head, err := one.head.Get(ctx)
		if err != nil {
			return err
		}
		last, err := one.last.Get(ctx)
		if err != nil {
			return err
		}
		if reason := one.blob.Fault(one.id, head, last); reason != "" {
			part.addFault(Fault{Key: one.key, ID: idText(one.id), Reason: reason})
		}
	}
	return nil
}
