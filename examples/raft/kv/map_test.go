// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/examples/raft/kv"
	"go.etcd.io/raft/v3/raftpb"
)

func entry(data []byte) *raftpb.Entry { return &raftpb.Entry{Data: data} }

func TestMap(t *testing.T) {
	var requests []uint64
	m := kv.Map{Applied: func(request uint64) { requests = append(requests, request) }}
	for i, c := range []kv.Command{{7, "a", "1"}, {8, "", "empty key"}, {1 << 60, "a", "2"}, {9, "\xff\x00", ""}} {
		if err := m.Apply(entry(c.Encode())); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := m.Apply(entry(nil)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(requests, []uint64{7, 8, 1 << 60, 9}) {
		t.Errorf("applied %d", requests)
	}
	data, _ := m.Snapshot()
	restored := kv.Map{}
	if err := restored.Restore(&raftpb.Snapshot{Data: data}); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"a": "2", "": "empty key", "\xff\x00": ""} {
		if value, found := restored.Get(key); !found || value != want {
			t.Errorf("%q is %q, %v", key, value, found)
		}
	}
	if value, found := restored.Get("b"); found {
		t.Errorf("b is %q", value)
	}
}

// TestDamaged cuts and extends encoded commands and snapshots.
func TestDamaged(t *testing.T) {
	whole := kv.Command{Request: 300, Key: "key", Value: "value"}.Encode()
	for n := 1; n < len(whole); n++ {
		if new(kv.Map).Apply(entry(whole[:n])) == nil {
			t.Errorf("the first %d bytes of a command are applied", n)
		}
	}
	if new(kv.Map).Apply(entry(append(whole, 0))) == nil {
		t.Error("a command with a byte too many is applied")
	}
	m := kv.Map{}
	if err := m.Apply(entry(whole)); err != nil {
		t.Fatal(err)
	}
	data, _ := m.Snapshot()
	for n := 1; n < len(data); n++ {
		if m.Restore(&raftpb.Snapshot{Data: data[:n]}) == nil {
			t.Errorf("the first %d bytes of a snapshot are restored", n)
		}
	}
}
