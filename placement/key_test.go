// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"strings"
	"testing"
)

func TestKeyValidate(t *testing.T) {
	for _, key := range []Key{{"k", "1"}, {"口座", "花子/1"}, {strings.Repeat("k", MaxKind), strings.Repeat("i", MaxID)}} {
		if err := key.Validate(); err != nil {
			t.Errorf("%v: %v", key, err)
		}
		if back, err := ParseKey(key.String()); err != nil || back != key {
			t.Errorf("ParseKey(%q) = %v, %v", key.String(), back, err)
		}
	}
	for _, test := range []struct {
		key    Key
		faults string
	}{
		{Key{}, "the kind is empty; the id is empty"},
		{Key{"k/x", "1"}, `the kind contains "/", which ends it in kind/id`},
		{Key{"k", "a\x00"}, "the id contains a NUL byte"},
		{Key{"k", "a\xff"}, "the id is not valid UTF-8"},
		{Key{strings.Repeat("k", MaxKind+1), "1"}, "the kind has 256 bytes; at most 255 are possible"},
		{Key{"k", strings.Repeat("i", MaxID+1)}, "the id has 1025 bytes; at most 1024 are possible"},
	} {
		if err := test.key.Validate(); !errors.Is(err, ErrInvalidKey) || !strings.HasSuffix(err.Error(), `": `+test.faults) || len(err.Error()) > 300 {
			t.Errorf("%.20v: %v, want %q", test.key, err, test.faults)
		}
	}
	if _, err := ParseKey("alone"); err == nil {
		t.Error("a key without a slash")
	}
}

func TestTopologyValidate(t *testing.T) {
	bad := Topology{Members: []Member{
		{Owner: Owner{"a", 1}},
		{Owner: Owner{"b", 0}, Address: "x\x00"},
		{Owner: Owner{"a", 2}},
		{Owner: Owner{strings.Repeat("n", MaxName+1), 1}, Kinds: []string{"k", "k", "", "a/b", "\xff"}},
	}}
	err := bad.Validate()
	if err == nil || !strings.HasPrefix(err.Error(), "placement: topology 0: ") {
		t.Fatalf("%v, want the faults of topology 0", err)
	}
	for _, want := range []string{
		"the version must be 1 or more", `members 0 and 2 are both called "a" (a#2 and a#1)`, `member 1, "b": the incarnation is 0`, "the address contains a NUL byte",
		"the name has 256 bytes", `the kind "k" is there twice`, "the kind is empty", `the kind "a/b" contains "/"`, "the kind is not valid UTF-8",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want that it tells of %q", err, want)
		}
	}
}

// Each value of an enumeration has a name of its own.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for k := Resolved; k <= Stopped; k++ {
		seen[k.String()] = true
	}
	for c := CauseIdle; c <= CauseStop; c++ {
		seen["cause "+c.String()] = true
	}
	for s := StateStopped; s <= StateClient; s++ {
		seen["state "+s.String()] = true
	}
	want := int(Stopped) + int(CauseStop) + int(StateClient) + 1
	if len(seen) != want || seen["unknown (22)"] || (Stopped+1).String() != "unknown (22)" {
		t.Errorf("%d names, want %d: %v", len(seen), want, seen)
	}
}
