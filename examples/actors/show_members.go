// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/placement"
)

// awaitMembers waits until the members are those of the names.
func (s *show) awaitMembers(ctx context.Context, names ...string) error {
	var last placement.Topology
	for topology, err := range s.members.Watch(ctx) {
		if err != nil {
			return fmt.Errorf("the members do not become %v, they are %v: %w", names, namesOf(last), err)
		}
		if slices.Equal(namesOf(topology), names) {
			return nil
		}
		last = topology
	}
	return context.Cause(ctx)
}

// namesOf returns the names of the members, in order.
func namesOf(t placement.Topology) []string {
	names := make([]string, len(t.Members))
	for i, m := range t.Members {
		names[i] = m.Name
	}
	slices.Sort(names)
	return names
}
