// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDiskUse(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"a": 1000, "below/b": 200, "empty": 0} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := DiskUse(dir); n != 1200 || err != nil {
		t.Errorf("%d bytes, %v, want 1200", n, err)
	}
	if n, err := DiskUse(filepath.Join(dir, "gone")); n != 0 || err != nil {
		t.Errorf("%d bytes in a folder that is not there, %v", n, err)
	}
}
