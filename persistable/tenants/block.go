// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// block is some pairs of one directory, read at one version. Its payload is the number
// of the directory, the version, and for each pair the length and the bytes of key and
// value; numbers and lengths are uvarints. Keys are relative to the directory's prefix
// and ascend.
type block struct {
	dir     int
	version int64
	pairs   []kv.KeyValue
}

// blockBytes is about how many bytes of keys and values a block has: what one
// transaction writes.
const blockBytes = 400_000

// pairBytes is at least what a transaction counts for a pair besides its key and its value.
const pairBytes = 64

// size returns the bytes of keys and values.
func (b *block) size() (n int64) {
	for _, pair := range b.pairs {
		n += int64(len(pair.Key) + len(pair.Value))
	}
	return n
}

// last returns the last key.
func (b *block) last() []byte { return b.pairs[len(b.pairs)-1].Key }

func (b *block) encode() []byte {
	payload := binary.AppendUvarint(nil, uint64(b.dir))
	payload = binary.AppendUvarint(payload, uint64(b.version))
	for _, pair := range b.pairs {
		payload = appendBytes(appendBytes(payload, pair.Key), pair.Value)
	}
	return payload
}

func appendBytes(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

var (
	errCutOff   = errors.New("it ends within a number, a key or a value")
	errTooLarge = fmt.Errorf("it has more pairs than one transaction can write: with %d bytes for each pair they have more than %d", pairBytes, kv.MaxTransactionSize)
)

// decodeBlock reads a block of a stream. It counts the pairs as they come: the least ones take 2
// bytes, and many times as much memory.
func decodeBlock(payload []byte) (*block, error) {
	dir, n := binary.Uvarint(payload)
	if n <= 0 || dir > 1<<30 {
		return nil, errCutOff
	}
	version, m := binary.Uvarint(payload[n:])
	if m <= 0 || version > 1<<62 {
		return nil, errCutOff
	}
	b := &block{dir: int(dir), version: int64(version)}
	size := 0
	for rest := payload[n+m:]; len(rest) > 0; {
		var pair kv.KeyValue
		var ok1, ok2 bool
		pair.Key, rest, ok1 = cutBytes(rest)
		pair.Value, rest, ok2 = cutBytes(rest)
		if !ok1 || !ok2 {
			return nil, errCutOff
		}
		if size += len(pair.Key) + len(pair.Value) + pairBytes; size > kv.MaxTransactionSize {
			return nil, errTooLarge
		}
		b.pairs = append(b.pairs, pair)
	}
	return b, nil
}

func cutBytes(b []byte) (text, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return b[n:end:end], b[end:], true
}

// check returns what is wrong with a block that comes after the position p.
func (b *block) check(m *manifest, p position) error {
	if b.dir >= len(m.dirs) || m.dirs[b.dir].isPartition() {
		return fmt.Errorf("its pairs are of the directory %d, which cannot have any", b.dir)
	}
	if len(b.pairs) == 0 || b.dir < p.dir {
		return errors.New("it is empty or out of order")
	}
	last, any := p.last, b.dir == p.dir && p.last != nil
	for i, pair := range b.pairs {
		if any && bytes.Compare(pair.Key, last) <= 0 {
			return fmt.Errorf("its pair %d is out of order", i)
		}
		if len(pair.Key) > kv.MaxKeySize || len(pair.Value) > kv.MaxValueSize {
			return fmt.Errorf("its pair %d has a key of %d and a value of %d bytes; at most %d and %d are possible", i, len(pair.Key), len(pair.Value), kv.MaxKeySize, kv.MaxValueSize)
		}
		if err := m.checkHeader(b.dir, pair); err != nil {
			return fmt.Errorf("its pair %d: %w", i, err)
		}
		last, any = pair.Key, true
	}
	return nil
}

// position is how far a tenant was read: the last pair.
type position struct {
	dir  int
	last []byte // nil: none of that directory
}
