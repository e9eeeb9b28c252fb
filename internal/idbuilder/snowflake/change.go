// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// root is the document of a key: the layouts in which worker ids were leased. The last one
// is in force.
type root struct {
	Format  int           `json:"format"`
	Key     string        `json:"key"`
	Layouts []layoutState `json:"layouts"`
	// Quarantine is until when documents without pairs get none, in Unix milliseconds.
	Quarantine int64 `json:"quarantine,omitempty"`
}

// layoutState is a layout of a key.
type layoutState struct {
	Layout
	Version int64 `json:"version"`
	// Ready says that no ID of an earlier layout can come again.
	Ready bool `json:"ready,omitempty"`
	// Held is the end of the last lease of a replaced layout, in Unix milliseconds; 0: the
	// layout was not replaced.
	Held int64 `json:"held,omitempty"`
}

const rootFormat = 1

// keyID names a key in the keys of documents, which have fewer characters.
func keyID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

func (r *root) currentLayout() *layoutState { return &r.Layouts[len(r.Layouts)-1] }

// replaceLayout makes a layout the last one.
func (r *root) replaceLayout(key Key) {
	layouts := r.Layouts[:0:0]
	for _, p := range r.Layouts {
		if p.Layout != key.Layout {
			layouts = append(layouts, p)
		}
	}
	r.Layouts = append(layouts, layoutState{Layout: key.Layout, Version: key.Version, Ready: len(layouts) == 0})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
