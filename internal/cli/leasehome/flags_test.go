// SPDX-License-Identifier: Apache-2.0

package leasehome

import "testing"

func TestHasPassword(t *testing.T) {
	for at, want := range map[string]bool{
		"redis://host:6379": false, "redis://user@host": false, "redis://user:secret@host": true, "redis://:secret@host/0": true,
		"https://host/a:b@c": false, "sqlite:a:b@c.db": false,
	} {
		if got := hasPassword(at); got != want {
			t.Errorf("hasPassword(%q) = %v", at, got)
		}
	}
}
