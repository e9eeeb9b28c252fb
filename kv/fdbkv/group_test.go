// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"os"
	"path/filepath"
	"testing"
)

// A version that is being asked for may be older than a commit that a function
// saw before it began, so the function waits for the next group.
func TestGroupsStartAfterTheirReadersBegin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fdb.cluster")
	if err := os.WriteFile(file, []byte("unreachable:here@127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	joined := make([]*group, 3)
	for i := range joined {
		if joined[i], err = db.groups.joinGathering(db); err != nil {
			t.Fatal(err)
		}
	}
	if !joined[0].started {
		t.Error("the first group does not start although no version is being asked for")
	}
	if joined[1] == joined[0] || joined[1].started {
		t.Error("a function joined a group whose version was being asked for, or its own has started")
	}
	if joined[2] != joined[1] {
		t.Error("two functions that wait for the next version do not share it")
	}
	db.groups.startNext()
	if !joined[1].started {
		t.Error("the next group does not start when the version has arrived")
	}
}
