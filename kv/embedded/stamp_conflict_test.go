// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// stampTemplate is the operand of a SetVersionstampedKey of "s", a versionstamp
// and suffix.
func stampTemplate(suffix string) []byte {
	return slices.Concat([]byte("s"), make([]byte, kv.VersionstampSize), []byte(suffix), []byte{1, 0, 0, 0})
}

// stampAt is such a key with a versionstamp.
func stampAt(stamp []byte, suffix string) []byte {
	return slices.Concat([]byte("s"), stamp, []byte(suffix))
}

// TestConflictRangeOfStampFollowsReadVersion: the write conflict range of a
// versionstamped key begins at the read version once that is known. What a clear
// covered below it was sent early, and is not told any more.
func TestConflictRangeOfStampFollowsReadVersion(t *testing.T) {
	tx, err := memoryWith(t).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Cancel()
	tx.ClearRange(kv.KeyRange{Begin: []byte("a"), End: []byte("z")})
	tx.Atomic(kv.SetVersionstampedKey, stampTemplate("x"), nil)
	version, err := tx.GetReadVersion().Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Repeat([]byte{0xff}, kv.VersionstampSize)
	want := []kv.KeyRange{
		{Begin: []byte("a"), End: stampAt(make([]byte, kv.VersionstampSize), "x")},
		{Begin: stampAt(mutation.Versionstamp(version, 0), "x"), End: []byte("z")},
	}
	checkWriteConflicts(t, tx, want)

	// a retry that is not its transaction's first attempt keeps the range
	if err := tx.OnError(t.Context(), kv.NewError(kv.CodeNotCommitted, "")); err != nil {
		t.Fatal(err)
	}
	tx.Atomic(kv.SetVersionstampedKey, stampTemplate("y"), nil)
	if version, err = tx.GetReadVersion().Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkWriteConflicts(t, tx, []kv.KeyRange{{
		Begin: stampAt(binary.BigEndian.AppendUint64(nil, uint64(version)), "\x00\x00y"), End: stampAt(all, "y\x00"),
	}})
}

func checkWriteConflicts(t *testing.T, tx kv.Transaction, want []kv.KeyRange) {
	t.Helper()
	_, got, err := tx.(kv.ConflictRanger).ConflictRanges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("write conflict ranges mismatch (-want +got):\n%s", diff)
	}
}
