// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestOptionsValidate makes every fault at once, and the least that is allowed.
func TestOptionsValidate(t *testing.T) {
	err := Options{CacheSize: -1, WindowSize: leastWindowSize - 1}.Validate()
	if err == nil || !strings.Contains(err.Error(), "CacheSize is -1") || !strings.Contains(err.Error(), "WindowSize is 1048575") {
		t.Errorf("two faults give %v", err)
	}
	if _, err := OpenWith("db", Options{FS: vfs.NewMem(), WindowSize: -1}); err == nil {
		t.Error("a database opens with a negative WindowSize")
	}
	for _, o := range []Options{{}, {WindowSize: leastWindowSize}} {
		if err := o.Validate(); err != nil {
			t.Error(err)
		}
	}
}
