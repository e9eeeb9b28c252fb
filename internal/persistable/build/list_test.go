// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestDecodeWork reads the work list of a build, and refuses damage.
func TestDecodeWork(t *testing.T) {
	members, err := DecodeMembers(tuple.Tuple{1, tuple.Tuple{"T_A", "A:int"}}.MustPack())
	if err != nil || len(members) != 1 || members[0] != (Member{"T_A", "A:int"}) {
		t.Errorf("%v, %v", members, err)
	}
	r, err := worklist.DecodeRange(nil, tuple.Tuple{[]byte{0xff}, []byte{0xff}, []byte("worker"), 3, 0, 0, 1, 0}.MustPack())
	if err != nil || !r.IsDone() || r.Beats != 3 || string(r.Worker) != "worker" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := worklist.DecodeRange(nil, []byte{1}); err == nil {
		t.Error("a damaged range was read")
	}
	if _, err := DecodeMembers([]byte{1}); err == nil {
		t.Error("a damaged list was read")
	}
}
