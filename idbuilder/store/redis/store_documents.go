// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// valueKey returns the name of the key of a document's value.
func (s *Store) valueKey(kind store.Kind, key string) string {
	if kind == store.Configs {
		return s.key("cfg", key)
	}
	return s.key("doc", string(kind), key)
}

func (s *Store) documentKeys(kind store.Kind, key string) []string {
	return s.guardedKeys(s.valueKey(kind, key), s.key("docmeta", string(kind), key), s.key("docs", string(kind)), s.key("expiring"), s.key("version"))
}

func member(kind store.Kind, key string) string { return string(kind) + ":" + key }

// tornError is the error of a document that lacks a part.
func (s *Store) tornError(kind store.Kind, key string) error {
	return corrupt(s.valueKey(kind, key), fmt.Errorf("either it or %s is missing", s.key("docmeta", string(kind), key)))
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, kind store.Kind, key string) (store.Document, error) {
	if err := errors.Join(kind.Validate(), store.CheckName(key)); err != nil {
		return store.Document{}, err
	}
	got, err := s.runRead(ctx, "get", getScript, s.documentKeys(kind, key), key, member(kind, key))
	switch {
	case err != nil:
		return store.Document{}, err
	case got.status == "torn":
		return store.Document{}, s.tornError(kind, key)
	case len(got.texts) == 0:
		return store.Document{}, fmt.Errorf("redis: get: %w", store.ErrNotFound)
	}
	return s.decodeDocument(kind, got.texts)
}

// documentParts is the number of texts that a script returns for a document.
const documentParts = 7

// decodeDocument reads what a script returns of a document.
func (s *Store) decodeDocument(kind store.Kind, texts []string) (d store.Document, err error) {
	if len(texts) != documentParts {
		return d, corrupt(s.key("docs", string(kind)), fmt.Errorf("the script returned %d parts", len(texts)))
	}
	d = store.Document{Key: texts[0], Value: []byte(texts[1]), Type: texts[3]}
	r, where := reply{texts: texts}, s.key("docmeta", string(kind), d.Key)
	if d.Version, err = r.int(2, where); err != nil {
		return d, err
	}
	for i, into := range map[int]*time.Time{4: &d.Created, 5: &d.Updated, 6: &d.Expires} {
		if texts[i] == "" {
			continue
		}
		n, err := r.int(i, where)
		if err != nil {
			return d, err
		}
		if *into = time.UnixMicro(n).UTC(); i == 6 {
			*into = time.UnixMilli(n).UTC()
		}
	}
	if err := d.Validate(); err != nil {
		return d, corrupt(s.valueKey(kind, d.Key), err)
	}
	return d, nil
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	if err := errors.Join(kind.Validate(), d.Validate()); err != nil {
		return 0, err
	}
	expires := ""
	if !d.Expires.IsZero() {
		expires = text(d.Expires.UnixMilli())
	}
	got, err := s.runWrite(ctx, "put", putScript, s.documentKeys(kind, d.Key), d.Key, member(kind, d.Key), text(d.Version), rand.Text(), d.Type, expires, s.prefix, d.Value)
	switch {
	case err != nil:
		return 0, err
	case got.status == "torn":
		return 0, s.tornError(kind, d.Key)
	}
	return got.int(0, s.key("version"))
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, kind store.Kind, key string, version int64) error {
	if err := errors.Join(kind.Validate(), store.CheckName(key)); err != nil {
		return err
	}
	got, err := s.runWrite(ctx, "delete", deleteScript, s.documentKeys(kind, key), key, member(kind, key), text(version), s.prefix)
	if err == nil && got.status == "torn" {
		err = s.tornError(kind, key)
	}
	return err
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, kind store.Kind, o store.ListOptions) ([]store.Document, error) {
	if err := kind.Validate(); err != nil {
		return nil, err
	}
	begin, end := bounds(o)
	got, err := s.runRead(ctx, "list", listScript, s.guardedKeys(s.key("docs", string(kind))), begin, end, o.Most(), s.valueKey(kind, ""), s.key("docmeta", string(kind), ""))
	if err != nil {
		return nil, err
	}
	if got.status == "torn" {
		return nil, s.tornError(kind, got.texts[0])
	}
	var list []store.Document
	for texts := got.texts; len(texts) > 0; texts = texts[min(documentParts, len(texts)):] {
		d, err := s.decodeDocument(kind, texts[:min(documentParts, len(texts))])
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// bounds returns the ends of a list as ZRANGEBYLEX has them.
func bounds(o store.ListOptions) (begin, end string) {
	begin, end = "["+o.Prefix, "+"
	if o.After >= o.Prefix && o.After != "" {
		begin = "(" + o.After
	}
	for i := len(o.Prefix) - 1; i >= 0; i-- {
		if c := o.Prefix[i]; c < 0xff {
			return begin, "(" + o.Prefix[:i] + string([]byte{c + 1})
		}
	}
	return begin, end
}
