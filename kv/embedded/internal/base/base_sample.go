// SPDX-License-Identifier: Apache-2.0

package base

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// The base keeps its sample among its own keys: behind this prefix the user's
// key, with the bytes that it stands for as a varint. It changes in the batches
// that change what it is a sample of.
var (
	samplePrefix = []byte{ownSpace, 's', '/'}
	sampleEnd    = []byte{ownSpace, 's', '/' + 1}
)

func sampleKey(key []byte) []byte { return append(bytes.Clone(samplePrefix), key...) }

// readSample brings the sample into memory: 1/sampleFactor of the base, about.
func (b *Base) readSample() error {
	iter, err := b.db.NewIter(&pebble.IterOptions{LowerBound: samplePrefix, UpperBound: sampleEnd})
	if err != nil {
		return err
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		size, n := binary.Varint(iter.Value())
		if n <= 0 || size <= 0 {
			return errors.Join(errors.New("the sample of sizes is malformed"), iter.Close())
		}
		b.sample.Restore(bytes.Clone(iter.Key()[len(samplePrefix):]), size)
	}
	return iter.Close()
}
