// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"slices"

	"github.com/kazahana-db/kazahana/index"
)

// versionIndex is the index of the versions of a store's records.
type versionIndex struct {
	*index.Index
	versions []byte // the prefix of the keys of versions: ("V", key name)
	changed  []byte // the key that each change writes, which waiting readers watch: ("S", type, "changed")
}

// newVersionIndex returns the version index of a store, nil if the type has none or it
// is not maintained yet.
func newVersionIndex(s *openStore, p *place) *versionIndex {
	i := slices.IndexFunc(s.maintained, func(ix index.Index) bool { return ix.Kind == index.Version && ix.State != index.Disabled })
	if i < 0 {
		return nil
	}
	ix := &s.maintained[i]
	return &versionIndex{Index: ix, versions: ix.Versions(), changed: s.systemKey(p, "changed")}
}

// versionKey returns the key of the version of the record with that packed id.
func (x *versionIndex) versionKey(id []byte) []byte { return slices.Concat(x.versions, id) }
