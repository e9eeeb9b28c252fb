// SPDX-License-Identifier: Apache-2.0

package deployed

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Plan returns what a store must hold for the keys of the folder to go on. The
// error joins all that is in the way.
func (f *Folder) Plan(o Options) (*Plan, error) {
	if o.Margin == 0 {
		o.Margin = 1000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &planner{Folder: f, Options: o, used: map[string]bool{}, seen: map[string]string{}}
	for _, c := range f.configs {
		p.add(c)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Next)) {
		if p.seen[key] == "" {
			p.faults = append(p.faults, fmt.Errorf("next: there is no key %q", key))
		}
	}
	p.noteUnused()
	return &p.plan, errors.Join(p.faults...)
}
