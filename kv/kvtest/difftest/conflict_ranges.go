// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/play"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
)

// comparableRanges asks for the conflict ranges, and takes out what is particular
// to an engine: the read version, at which the range of a versionstamped key begins,
// and the system keys, of which selectors that run off the end may meet some.
func comparableRanges(ctx context.Context, r *play.Player, s *play.Slot, st *scenario.Step) scenario.Answer {
	a := play.ConflictRanges(ctx, r, s, st)
	if a.Kind == "error" {
		return a
	}
	version, err := s.Tx.GetReadVersion().Get(ctx)
	if err != nil {
		return a
	}
	first := binary.BigEndian.AppendUint64(nil, uint64(version))
	r.Current = nil
	least := append(bytes.Clone(first), 0, 0) // of the stamps that a key may get
	for id, stamp := range r.Known {
		if bytes.Equal(stamp, least) {
			r.Current = append(r.Current, id)
		}
	}
	a = a.With(func(b []byte) []byte {
		if bytes.HasPrefix(b, model.UserKeys().End) {
			return model.UserKeys().End
		}
		return bytes.ReplaceAll(b, first, scenario.ReadVersionName)
	})
	a.Read, a.Write = slices.DeleteFunc(a.Read, isEmpty), slices.DeleteFunc(a.Write, isEmpty)
	return a
}

func isEmpty(r kv.KeyRange) bool { return bytes.Equal(r.Begin, r.End) }
