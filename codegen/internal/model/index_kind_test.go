// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// TestMarkersOfKinds: the kinds and the markers that tags know are the same.
func TestMarkersOfKinds(t *testing.T) {
	for _, marker := range tags.Aggregates {
		AggregateKind(marker) // panics if there is none
	}
	for _, k := range IndexKinds {
		if k.Marker != "" && !slices.Contains(tags.Aggregates, k.Marker) {
			t.Errorf("no tag of the marker %s is read: tags.Aggregates does not have it", k.Marker)
		}
	}
}
