// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
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
