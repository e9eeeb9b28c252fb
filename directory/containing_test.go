// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
)

// TestContaining looks for the directories of keys: at the prefix itself and behind it, in
// partitions and outside of all.
func TestContaining(t *testing.T) {
	ctx, db, layer := t.Context(), enginetest.Open(t), directory.Root()
	for _, path := range [][]string{{"a"}, {"a", "b"}, {"p", "x"}, {"p", "x", "y"}, {"p", "q", "z"}} {
		if _, err := layer.CreateOrOpen(ctx, db, path, expectsOf(path)...); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range [][]string{{"a"}, {"a", "b"}, {"p", "x"}, {"p", "x", "y"}, {"p", "q", "z"}} {
		d, err := layer.Open(ctx, db, path)
		if err != nil {
			t.Fatal(err)
		}
		prefix, err := d.Prefix()
		if err != nil {
			t.Fatal(err)
		}
		for _, rest := range []string{"", "\x00", "k", "\xff\xff"} {
			found, err := layer.Containing(ctx, db, append(slices.Clone(prefix), rest...))
			if err != nil || !slices.Equal(found.Path(), path) {
				t.Errorf("%q: the key at %q belongs to %v, %v", path, rest, found, err)
			}
		}
	}
	p, err := layer.Open(ctx, db, []string{"p"})
	if err != nil {
		t.Fatal(err)
	}
	for _, rest := range []string{"\xfe", "\xfe\x01", "\x02other"} {
		found, err := layer.Containing(ctx, db, append(slices.Clone(p.Reserve().Begin), rest...))
		if err != nil || !slices.Equal(found.Path(), []string{"p"}) {
			t.Errorf("the key %q of the partition belongs to %v, %v", rest, found, err)
		}
	}
	for _, key := range []string{"", "\x00", "\xfe", "\xfe\x01\xfe\x00", "\xff/x"} {
		if found, err := layer.Containing(ctx, db, []byte(key)); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("the key %q belongs to %v, %v, want ErrNotFound", key, found, err)
		}
	}
}

// expectsOf makes p and p/q partitions.
func expectsOf(path []string) (expects []directory.Expect) {
	for i, name := range path {
		if name == "p" || name == "q" {
			expects = append(expects, directory.ElementAs(i, directory.Partition))
		}
	}
	return expects
}
