// SPDX-License-Identifier: Apache-2.0

package persistable

import "github.com/kazahana-db/kazahana/persistable/internal/build"

// buildPlace returns where a build finds the store's keys.
func (s *openStore) buildPlace(p *place) build.Place {
	at := build.Place{List: s.buildList(p), Records: s.records.Prefix, Indexes: s.maintained}
	for _, ix := range s.foreign.refused {
		at.Foreign = append(at.Foreign, build.Member{KeyName: ix.KeyName, Layout: ix.Layout})
	}
	return at
}

// buildList returns the work list of the store's builds.
func (s *openStore) buildList(p *place) build.List {
	return build.List{Prefix: s.systemKey(p, "build")}
}
