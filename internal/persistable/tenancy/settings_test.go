// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/tuple"
)

// TestDecode reads the settings of a tenant, and refuses damage.
func TestDecode(t *testing.T) {
	got, err := Decode(tuple.Tuple{1, "id", "export", 100, 0, 1}.MustPack())
	want := Settings{Lock: Lock{ID: "id", Reason: "export"}, Quota: Quota{Records: 100, State: 1}}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := Decode([]byte{1}); err == nil {
		t.Error("damaged settings were read")
	}
}

// TestLocked: the text names the directory, with a long name shortened, and the type if one
// is concerned.
func TestLocked(t *testing.T) {
	for typ, want := range map[string]string{
		"":      `persistable: the directory "a"/"` + strings.Repeat("b", 64) + `…" is locked against writes (export): try again when it is unlocked`,
		"Order": `persistable: Order: the directory "a"/"` + strings.Repeat("b", 64) + `…" is locked against writes (export): try again when it is unlocked`,
	} {
		err := Locked(typ, []string{"a", strings.Repeat("b", 70)}, "export")
		if !errors.Is(err, ErrLocked) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
