// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// reader assembles documents from their pairs.
type reader struct {
	keys  keys
	kind  store.Kind
	found []store.Document
	open  document // the last one, of which chunks may follow
}

// readDocuments returns the first documents of a range.
func readDocuments(ctx context.Context, tx kv.ReadTransaction, k keys, kind store.Kind, r kv.KeyRange, limit int) ([]store.Document, error) {
	in := reader{keys: k, kind: kind}
	front := len(k.pack(letterDocument, string(kind)))
	for pair, err := range tx.GetRange(r.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).All(ctx) {
		if err != nil {
			return nil, err
		}
		key, chunk, err := tuple.ReadString(pair.Key[front:])
		if err != nil {
			return nil, corrupt(pair.Key, err)
		}
		if len(chunk) == 0 && in.open.Key != "" && len(in.found)+1 == limit {
			break
		}
		if err := in.addPair(pair, key, len(chunk) > 0); err != nil {
			return nil, err
		}
	}
	return in.found, in.closeDocument()
}

// addPair reads a pair: a chunk of a document, or the head of the next.
func (in *reader) addPair(pair kv.KeyValue, key string, chunk bool) error {
	switch {
	case chunk && key == in.open.Key:
		return in.open.addChunk(pair)
	case chunk:
		return corrupt(pair.Key, errors.New("a chunk of a document that has no head"))
	}
	if err := in.closeDocument(); err != nil {
		return err
	}
	if err := in.open.decode(pair.Value); err != nil {
		return corrupt(pair.Key, err)
	}
	in.open.Key = key
	return nil
}

// closeDocument closes the open document, if there is one.
func (in *reader) closeDocument() error {
	if in.open.Key == "" {
		return nil
	}
	if err := in.open.checkComplete(in.keys, in.kind); err != nil {
		return err
	}
	in.found = append(in.found, in.open.Document)
	in.open = document{}
	return nil
}
