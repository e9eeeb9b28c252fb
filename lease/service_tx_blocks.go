// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
)

var errKeyLength = errors.New("the key is not one of this package")

// storedBlock is a block as it was read.
type storedBlock struct {
	*block       // nil: there is none, or it cannot be read
	damage error // why it cannot be read
}

// getBlocks reads blocks serializably.
func (tx *serviceTx) getBlocks(ctx context.Context, keys [][]byte) ([]storedBlock, error) {
	values, err := tx.store.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	blocks := make([]storedBlock, len(keys))
	for i, value := range values {
		if value != nil {
			blocks[i].block, blocks[i].damage = tx.decodeBlock(keys[i], value)
		}
	}
	return blocks, nil
}

// decodeBlocks decodes the blocks of a scan.
func (tx *serviceTx) decodeBlocks(pairs []Pair) ([]block, error) {
	blocks := make([]block, len(pairs))
	for i, pair := range pairs {
		b, err := tx.decodeBlock(pair.Key, pair.Value)
		if err != nil {
			return nil, err
		}
		blocks[i] = *b
	}
	return blocks, nil
}

func (tx *serviceTx) decodeBlock(key, value []byte) (*block, error) {
	corrupt := func(err error) error { return &CorruptError{ServiceID: tx.service, Key: key, Cause: err} }
	base, ok := blockBase(key)
	if !ok {
		return nil, corrupt(errKeyLength)
	}
	b := &block{base: base}
	if err := decode(tx.service, key, value, b); err != nil {
		return nil, err
	}
	if b.base%b.size() != 0 || b.base+b.size() > 1<<tx.config.spaceBits() {
		return nil, corrupt(fmt.Errorf("2^%d positions do not begin there", b.BitSeq))
	}
	return b, nil
}

// putBlock writes a block and its entry in the queue.
func (tx *serviceTx) putBlock(b *block) {
	tx.set(blockKey(b.base), encode(blockKey(b.base), b))
	tx.set(freeKey(b.BitSeq, b.NotBefore, b.base), []byte{recordFormat})
}

// deleteBlock removes a block and its entry in the queue.
func (tx *serviceTx) deleteBlock(b *block) {
	tx.set(blockKey(b.base), nil)
	tx.set(freeKey(b.BitSeq, b.NotBefore, b.base), nil)
}
