// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/persistable"
)

// TestVersionText sends a version through JSON, and reads texts that are none.
func TestVersionText(t *testing.T) {
	v := persistable.Version{0, 1, 9: 0xff, 11: 3}
	text, err := json.Marshal(v)
	if err != nil || string(text) != `"000100000000000000ff0003"` {
		t.Errorf("Marshal = %s, %v", text, err)
	}
	var back persistable.Version
	if err := json.Unmarshal(text, &back); err != nil || back != v || back.IsZero() {
		t.Errorf("Unmarshal(%s) = %v, %v", text, back, err)
	}
	for _, bad := range []string{"", "00", v.String() + "0", v.String() + "00", strings.Repeat("x", 24)} {
		if err := back.UnmarshalText([]byte(bad)); err == nil || back != v {
			t.Errorf("UnmarshalText(%q) = %v, and left %v", bad, err, back)
		}
	}
}
