// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"
	"testing"
)

// TestDBPrintsNoKey checks that a DB does not print the key of page tokens, with
// which tokens can be forged.
func TestDBPrintsNoKey(t *testing.T) {
	db := &DB{tokenKey: []byte("the key of the tokens")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if got := fmt.Sprintf(verb, db); got != "persistable.DB{<nil>}" {
			t.Errorf("%s prints %s", verb, got)
		}
	}
	if got := fmt.Sprint((*DB)(nil)); got != "<nil>" {
		t.Errorf("no DB prints %s", got)
	}
}
