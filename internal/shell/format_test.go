// SPDX-License-Identifier: Apache-2.0

package shell_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// TestMetaIsOneWordEach: a holder cannot make up a column of another name.
func TestMetaIsOneWordEach(t *testing.T) {
	got := shell.Pairs(map[string]string{"host": "a task=import", "b c": "", "d": `e"f`, "g": "h"})
	if want := ` "b c"="" d="e\"f" g=h host="a task=import"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
