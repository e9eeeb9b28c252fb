// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"go/types"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// whyNotBlob returns why a field cannot hold a blob as it does, or "". What removes a content with its
// record looks at the fields of the record itself.
func whyNotBlob(k *model.Kind, o tags.FieldOptions) string {
	switch {
	case k.Form != model.FormBlob && holdsBlob(k, nil):
		return "a content belongs to a field of the record itself, of type persistable.Blob: it cannot be below a pointer, nor in a slice, a map or a nested struct; " +
			"for several contents give each a record of its own"
	case k.Form == model.FormBlob && o.Text:
		return "a persistable.Blob has a stored form of its own; remove text"
	}
	return ""
}

// holdsBlob reports whether values of the kind hold blobs. within are the structs that are being looked into.
func holdsBlob(k *model.Kind, within []*model.Message) bool {
	for ; k != nil; k = k.Elem {
		if k.Form == model.FormBlob {
			return true
		}
		if k.Form == model.FormMessage && !slices.Contains(within, k.Message) {
			within := append(slices.Clip(within), k.Message)
			return slices.ContainsFunc(k.Message.Fields, func(f *model.Field) bool { return holdsBlob(f.Kind, within) })
		}
	}
	return false
}

// checkBlobs reports the fields of a record that hold blobs in another way than as themselves. It is called when
// the structs that are nested in the record are known.
func checkBlobs(c *collector, r *model.Record) {
	for _, f := range r.Message.Fields {
		if f.Kind == nil {
			continue
		}
		if reason := whyNotBlob(f.Kind, f.Options); reason != "" {
			c.Add(f.At, f.Subject, "%s", reason)
		}
	}
}

// isBlobOfOwnName reports whether a type is declared as persistable.Blob under another name.
func isBlobOfOwnName(named *types.Named) bool {
	for _, p := range named.Obj().Pkg().Imports() {
		if p.Path() == model.PersistablePath {
			blob := p.Scope().Lookup("Blob")
			return blob != nil && types.Identical(named.Underlying(), blob.Type().Underlying())
		}
	}
	return false
}
