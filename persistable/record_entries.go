// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"errors"
	"strings"

	"github.com/kazahana-db/kazahana/index"
)

// gatherEntries collects the entries of a record in all maintained indexes.
func (r *record) gatherEntries(set *index.Set, o *openStore, id []byte, v any) error {
	set.Reset()
	for i := range r.Indexes {
		if e := set.Open(&o.indexes[i], id); e != nil {
			if err := r.AppendEntries(i, e, v); err != nil {
				return err
			}
		}
		if err := set.Close(&o.indexes[i]); err != nil {
			return r.indexError(err)
		}
		if len(r.Indexes[i].CoverFields) > 0 && set.Keys(i) > 0 {
			if err := set.EndCover(&o.indexes[i], r.Covers(i, set.BeginCover(), v)); err != nil {
				return r.indexError(err)
			}
		}
	}
	return nil
}

// indexError turns an error of package index into one of this package.
func (r *record) indexError(err error) error {
	if err == nil {
		return nil
	}
	var size *index.KeySizeError
	var cover *index.CoverSizeError
	var taken *index.TakenError
	var entry *index.EntryError
	switch {
	case errors.As(err, &size):
		return &FieldError{Type: r.Type, Field: size.Field, Reason: "it cannot be indexed", Err: size}
	case errors.As(err, &cover):
		return &FieldError{Type: r.Type, Field: strings.Join(cover.Definition.CoverFields, "+"), Reason: "an index cannot copy it", Err: cover}
	case errors.As(err, &taken):
		return r.uniqueError(taken)
	case errors.As(err, &entry):
		return &RecordError{Type: r.Type, Key: entry.Key, Reason: "an index entry is damaged", Remedy: "run Indexes().Build after disabling the index, or Verify to see more", Err: err}
	}
	return err
}

func (r *record) uniqueError(e *index.TakenError) error {
	owner, err := r.IDs.Read(e.Owner)
	if err != nil {
		owner = idText(e.Owner)
	}
	return &UniqueError{Type: r.Type, Index: e.Definition.Name, Fields: e.Definition.Fields, Values: e.Values, Owner: owner}
}

func (r *record) violationOf(ix *index.Index, v index.Violation, owner []byte) Violation {
	values, _ := ix.Values(v.Key[len(ix.Prefix):])
	return Violation{Index: ix.KeyName(), Fields: ix.Fields, Values: values, ID: r.idValue(v.Record), Owner: r.idValue(owner)}
}

// idValue is the id in its own type, or its text if it cannot be read.
func (r *record) idValue(packed []byte) any {
	if id, err := r.IDs.Read(packed); err == nil {
		return id
	}
	return idText(packed)
}
