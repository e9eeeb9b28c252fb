// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"

	idstore "github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// checkDocument checks a document with its chunks and its entry in the index of expiry,
// when its head is read, and that a chunk has a head.
func (p *place) checkDocument(ctx context.Context, b *batch, pair kv.KeyValue, kind string, rest []byte) (*fault, error) {
	name, chunk, err := tuple.ReadString(rest)
	if err != nil {
		return newFault("system/stray-key", pair.Key, "it is not the key of a document"), nil
	}
	head := p.pack("D", kind, name)
	if len(chunk) > 0 {
		value, err := b.value(ctx, head)
		if err == nil && value == nil {
			return newFault("idservice/missing-chunk", pair.Key, "a chunk of a document that is not there"), nil
		}
		return nil, err
	}
	d, size, err := idstore.DecodeHead(pair.Value)
	if err != nil {
		return newFault("idservice/bad-document", pair.Key, "%v", err), nil
	}
	if f, err := checkParts(ctx, b, head, size); f != nil || err != nil {
		return f, err
	}
	at := idstore.ExpiryTime(d)
	if at == 0 {
		return nil, nil
	}
	key := tuple.AppendString(tuple.AppendString(tuple.AppendInt(p.pack("Z"), at), kind), name)
	entry, err := b.value(ctx, key)
	if err == nil && entry == nil {
		return newFault("idservice/missing-expiry", pair.Key, "%s/%s expires, and is not in the index of expiry", kind, name), nil
	}
	return nil, err
}

// checkExpiry checks that an entry of the index of expiry has its document.
func (p *place) checkExpiry(ctx context.Context, b *batch, pair kv.KeyValue, _ string, rest []byte) (*fault, error) {
	at, rest, err := tuple.ReadInt(rest)
	kind, name := "", ""
	if err == nil {
		kind, rest, err = tuple.ReadString(rest)
	}
	if err == nil {
		name, _, err = tuple.ReadString(rest)
	}
	if err != nil {
		return newFault("system/stray-key", pair.Key, "it is not an entry of the index of expiry"), nil
	}
	value, err := b.value(ctx, p.pack("D", kind, name))
	if err != nil {
		return nil, err
	}
	d, _, err := idstore.DecodeHead(value)
	if value == nil || err == nil && idstore.ExpiryTime(d) != at {
		return newFault("idservice/stray-expiry", pair.Key, "%s/%s is not there, or expires at another time", kind, name), nil
	}
	return nil, nil //nolint:nilerr // the document is reported
}

// checkActor checks an entry when its first chunk is read, and that each other chunk has
// the one before.
func (p *place) checkActor(ctx context.Context, b *batch, pair kv.KeyValue, kind, id string, after []byte) (*fault, error) {
	n, left, err := tuple.ReadInt(after)
	if err != nil || len(left) > 0 || n < 0 {
		return newFault("system/stray-key", pair.Key, "it is not the key of a chunk"), nil
	}
	entry := p.pack("R", kind, id)
	if n > 0 {
		before, err := b.value(ctx, tuple.AppendInt(entry, n-1))
		if err == nil && len(before) != kvstore.EntryChunk {
			return newFault("placement/bad-entry", entry, "the chunk %d before it has %d bytes instead of %d", n-1, len(before), kvstore.EntryChunk), nil
		}
		return nil, err
	}
	row, err := b.value(ctx, p.pack("F", kind, id))
	if err != nil {
		return nil, err
	}
	if row == nil {
		return newFault("placement/missing-row", pair.Key, "%s/%s has an entry, and no row", kind, id), nil
	}
	var whole []byte
	for chunk, err := range b.pairs(ctx, chunkRange(entry), kv.RangeOptions{Mode: kv.ModeWantAll}) {
		if err != nil {
			return nil, err
		}
		whole = append(whole, chunk.Value...)
	}
	if _, err := kvstore.DecodeEntry(whole); err != nil {
		return newFault("placement/bad-entry", entry, "%v", err), nil
	}
	return nil, nil
}
