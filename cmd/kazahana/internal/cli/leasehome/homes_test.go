// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"strings"
	"testing"
)

// TestAboutNamesEachHome looks for each kind of place in the help text of --leases. A
// place with TLS is named by its line, or instead of the one without.
func TestAboutNamesEachHome(t *testing.T) {
	for scheme := range homes {
		if !strings.Contains(About, scheme+":") && !strings.Contains(About, scheme+"s:") {
			t.Errorf("the help text does not say how to name a place by %s:", scheme)
		}
	}
}
